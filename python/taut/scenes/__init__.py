def names(): return []
def make(name): raise ValueError
