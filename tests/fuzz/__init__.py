"""Random scenes, programs, files and faults that try to bring taut down or to catch it in a wrong answer.

`python tests/fuzz --help`; docs/campaign.md.
"""
