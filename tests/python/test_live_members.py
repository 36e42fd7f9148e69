"""What is done to the live members of a scene, behind taut's back: named where they are used, never the end."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable

import coal
import numpy as np
import pinocchio
import pytest

import taut


def _array(name: str, value) -> Callable[[taut.Scene], None]:
    return lambda scene: setattr(scene.model, name, value)


def _spoil_placement(scene: taut.Scene) -> None:
    scene.geometry.geometryObjects[0].placement = pinocchio.SE3(2.0 * np.eye(3), np.zeros(3))


def _nan_placement(scene: taut.Scene) -> None:
    scene.geometry.geometryObjects[0].placement = pinocchio.SE3(np.eye(3), np.full(3, np.nan))


def _parent(scene: taut.Scene) -> None:
    scene.geometry.geometryObjects[0].parentJoint = 12345


def _mass(value: float) -> Callable[[taut.Scene], None]:
    def spoil(scene: taut.Scene) -> None:
        scene.model.inertias[1] = pinocchio.Inertia(value, np.zeros(3), np.eye(3))

    return spoil


def _limits(scene: taut.Scene) -> None:
    lower = scene.model.lowerPositionLimit.copy()
    lower[-1] = scene.model.upperPositionLimit[-1] + 1.0
    scene.model.lowerPositionLimit = lower


def _gravity(scene: taut.Scene) -> None:
    scene.model.gravity = pinocchio.Motion(np.full(3, np.nan), np.zeros(3))


def _joint(scene: taut.Scene) -> None:
    scene.model.addJoint(0, pinocchio.JointModelRX(), pinocchio.SE3.Identity(), "late")


def _shape(scene: taut.Scene) -> None:
    scene.geometry.addGeometryObject(pinocchio.GeometryObject("late", 0, pinocchio.SE3.Identity(), coal.Sphere(0.1)))


def _names(scene: taut.Scene) -> None:
    del scene.model.names[-1]


def _joint_placement(scene: taut.Scene) -> None:
    scene.model.jointPlacements[1] = pinocchio.SE3(np.zeros((3, 3)), np.zeros(3))


SPOILERS: dict[str, tuple[Callable[[taut.Scene], None], str]] = {
    "no damping": (_array("damping", np.zeros(0)), "damping has 0 entries"),
    "much damping": (_array("damping", np.zeros(100)), "damping has 100 entries"),
    "negative damping": (_array("damping", np.full(18, -1.0)), "damping of 'dof 0' is -1"),
    "no armature": (_array("armature", np.zeros(0)), "armature has 0 entries"),
    "armature that is none": (_array("armature", np.full(18, np.nan)), "armature of 'dof 0' is nan"),
    "no lower limits": (_array("lowerPositionLimit", np.zeros(0)), "lowerPositionLimit has 0"),
    "no upper limits": (_array("upperPositionLimit", np.zeros(1)), "upperPositionLimit has 1"),
    "limits crossed": (_limits, "lower limit of"),
    "no dry friction": (_array("upperDryFrictionLimit", np.zeros(2)), "upperDryFrictionLimit has 2"),
    "a shape of no joint": (_parent, "parentJoint of shape .* is 12345"),
    "a shape of twice its size": (_spoil_placement, "placement of shape"),
    "a shape nowhere": (_nan_placement, "placement of shape"),
    "a joint nowhere": (_joint_placement, "jointPlacements"),
    "a mass that is none": (_mass(np.nan), "mass of .* is nan"),
    "a mass below zero": (_mass(-1.0), "mass of .* is -1"),
    "gravity that is none": (_gravity, "gravity is not finite"),
    "a joint more": (_joint, "stiffness|scene"),
    "a shape more": (_shape, "surfaces has"),
    "a name less": (_names, "names has"),
}

# Everything that reads a scene, of a simulator that was made when it was sound.
USES: dict[str, Callable[[taut.Scene, taut.Simulator, np.ndarray, np.ndarray], object]] = {
    "step": lambda scene, sim, q, v: sim.step(q, v),
    "rollout": lambda scene, sim, q, v: sim.rollout(q, v, steps=2),
    "hold": lambda scene, sim, q, v: sim.hold(q, 1.0, 1.0),
    "jacobian": lambda scene, sim, q, v: sim.jacobian(),
    "vjp": lambda scene, sim, q, v: sim.vjp(v, v),
    "jvp": lambda scene, sim, q, v: sim.jvp(v, v),
    "jacobians": lambda scene, sim, q, v: sim.jacobians(q[None], v[None]),
    "Simulator": lambda scene, sim, q, v: taut.Simulator(scene),
    "validate": lambda scene, sim, q, v: scene.validate(),
    "add_body": lambda scene, sim, q, v: scene.add_body("more", coal.Sphere(0.1)),
    "add_shape": lambda scene, sim, q, v: scene.add_shape("more", coal.Sphere(0.1)),
    "add_floor": lambda scene, sim, q, v: scene.add_floor(),
    "add_robot": lambda scene, sim, q, v: scene.add_robot(taut.scenes.make("ball"), "more_"),
    "of another": lambda scene, sim, q, v: taut.scenes.make("ball").add_robot(scene, "more_"),
    "add_loop": lambda scene, sim, q, v: scene.add_loop("point", 1, 3, point=[0, 0, 0]),
    "friction": lambda scene, sim, q, v: scene.friction(scene.geometry.geometryObjects[-1].name),
    "loop_errors": lambda scene, sim, q, v: scene.loop_errors(q),
    "loop_jacobian": lambda scene, sim, q, v: scene.loop_jacobian(q),
    "assemble": lambda scene, sim, q, v: scene.assemble(q),
    "energy": lambda scene, sim, q, v: taut.mechanical_energy(scene, q, v),
    "bodies": lambda scene, sim, q, v: taut._taut._Bodies(scene).placements(q),
}

PROGRAM = """
import json, sys
sys.path.insert(0, {folder!r})
import numpy as np, taut
from test_live_members import SPOILERS, USES
with open(sys.argv[1], "w", buffering=1) as log:
    for spoiled, (spoil, _) in SPOILERS.items():
        for used, use in USES.items():
            scene = taut.scenes.make("go1")
            sim, q, v = taut.Simulator(scene), scene.q0, np.zeros(18)
            sim.step(q, v)
            log.write(json.dumps([spoiled, used]) + "\\n")
            spoil(scene)
            repr(scene), scene.copy(), scene.parameters
            try:
                use(scene, sim, q, v)
                raised, said = "", ""
            except Exception as error:
                raised, said = type(error).__name__, str(error)
            log.write(json.dumps([spoiled, used, raised, said]) + "\\n")
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    log = tmp_path_factory.mktemp("live") / "log"
    program = PROGRAM.format(folder=str(__file__).rsplit("/", 1)[0])
    run = subprocess.run(
        [sys.executable, "-c", program, str(log)], capture_output=True, text=True, timeout=600, check=False
    )
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert run.returncode == 0, f"{lines[-1:]} ended the process: {run.stderr[-2000:]}"
    return {(spoiled, used): (raised, said) for spoiled, used, raised, said in (a for a in lines if len(a) == 4)}


@pytest.mark.parametrize("spoiled", SPOILERS)
def test_what_was_spoiled_is_named_where_it_is_used(answers, spoiled):
    import re

    wrong = []
    for used in USES:
        raised, said = answers[spoiled, used]
        named = SPOILERS[spoiled][1]
        if used in ("jacobian", "vjp", "jvp"):  # of a step before: whatever was edited
            named += "|was edited since the last step|has shape"
        if raised != "ValueError" or not re.search(named, said):
            wrong.append(f"{used}: {raised} {said}")
    assert wrong == []


def test_what_is_put_right_works_again():
    scene = taut.scenes.make("go1")
    sim, q, v = taut.Simulator(scene), scene.q0, np.zeros(18)
    expected = sim.step(q, v)
    damping = scene.model.damping.copy()
    scene.model.damping = np.zeros(0)
    with pytest.raises(ValueError, match="damping"):
        sim.step(q, v)
    scene.model.damping = damping
    sim.reset()
    assert sim.step(q, v).v.tobytes() == expected.v.tobytes()


@pytest.mark.parametrize("field", [coal.HeightFieldOBBRSS, coal.HeightFieldAABB])
def test_a_height_field_without_heights_is_named(field):
    scene = taut.scenes.make("ball")
    with pytest.raises(ValueError, match="'field': a height field of 0 x 0 heights"):
        scene.add_shape("field", field())
    scene.geometry.geometryObjects[0].geometry = field()
    with pytest.raises(ValueError, match="'floor': a height field of 0 x 0 heights"):
        taut.Simulator(scene)


# --- what is kept longer than its owner


def test_parts_outlive_their_owners():
    scene = taut.scenes.make("stack", n=2)
    sim = taut.Simulator(scene)
    step, path = sim.step(scene.q0, np.zeros(12)), sim.rollout(scene.q0, np.zeros(12), steps=3)
    model, q, contacts = scene.model, path.q, step.contacts
    jacobian, problem, batch = sim.jacobian().dv_dq, sim.problem(), sim.jacobians(scene.q0[None], np.zeros((1, 12)))
    dq_dq, masses = batch.dq_dq, model.inertias
    before = (q.copy(), contacts[0].point.copy(), jacobian.copy(), problem.G.copy(), dq_dq.copy(), masses[1].mass)
    del scene, sim, step, path, model, batch
    gc.collect()
    np.ones(10**6)  # writes over what was given back
    after = (q, contacts[0].point, jacobian, problem.G, dq_dq, masses[1].mass)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


# --- cycles


def test_a_scene_that_holds_its_simulator_is_collected():
    scene = taut.scenes.make("ball")
    scene.sim = taut.Simulator(scene)
    scene.sim.me = scene.sim
    scene.sim.step(scene.q0, np.zeros(6))
    scene.sim.jacobian()
    gone = weakref.ref(scene), weakref.ref(scene.sim)
    del scene
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_collection_leaves_what_is_in_use():
    scene = taut.scenes.make("ball")
    scene.sim = taut.Simulator(scene)
    sim = scene.sim
    del scene
    for _ in range(3):
        gc.collect()
    assert sim.scene.sim is sim
    assert sim.step(sim.scene.q0, np.zeros(6)).report.status == "converged"


CYCLES = {
    "a scene and its simulator": "scene.sim = taut.Simulator(scene)",
    "simulators of each other": """
        one, two = taut.Simulator(scene), taut.Simulator(scene)
        one.two, two.one = two, one""",
    "two scenes": """
        other = taut.scenes.make('ball')
        other.sim, scene.sim = taut.Simulator(scene), taut.Simulator(other)""",
    "bodies": "scene.bodies = taut._taut._Bodies(scene)",
    "a tape": """
        sim = taut.Simulator(scene)
        tape = taut._taut._Tape(10, 1.0, lambda piece: sim)
        sim._attach(tape)
        scene.sim = sim""",
    "a recorder": """
        sim = taut.Simulator(scene)
        recorder = sim.record(sys.argv[1])
        scene.recorder = sim.recorder = recorder
        sim.step(scene.q0, np.zeros(6))
        recorder.close()""",
    "a step, a trajectory, a problem": """
        sim = taut.Simulator(scene)
        scene.kept = [sim.step(scene.q0, np.zeros(6)), sim.rollout(scene.q0, np.zeros(6), steps=2), sim.problem()]
        scene.kept += [sim, sim.state(), sim.jacobian(), sim.step]
        scene.kept.append(sim.jacobians(scene.q0[None], np.zeros((1, 6))).q)""",
    "an error": """
        sim = taut.Simulator(scene)
        try:
            sim.step(scene.q0, 0.0)
        except ValueError as error:
            scene.error = error""",
    "a patch": """
        point = taut.collision.patch(coal.Sphere(.1), np.eye(4), coal.Box(1, 1, .2), np.eye(4))[0]
        point.sizes_1["me"] = point
        scene.point = point""",
}


@pytest.mark.parametrize("cycle", CYCLES)
def test_no_cycle_leaks(cycle, tmp_path):
    """In a process of its own: nanobind counts at the end what is left."""
    program = "import sys, gc, coal, numpy as np, taut\ndef cycle():\n    scene = taut.scenes.make('ball')\n"
    program += textwrap.indent(textwrap.dedent(CYCLES[cycle]).strip(), "    ") + "\ncycle()\ngc.collect()\n"
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "run.npz")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "leaked" not in run.stderr


def test_joints_out_of_order_are_refused():
    """Pinocchio's M is wrong where the joints of a subtree do not follow each other, and says nothing."""
    model = pinocchio.Model()
    for name, parent, joint in (
        ("shoulder", 0, pinocchio.JointModelRX()),
        ("elbow", 1, pinocchio.JointModelRY()),
        ("other", 1, pinocchio.JointModelRZ()),
        ("wrist", 2, pinocchio.JointModelRX()),
    ):
        index = model.addJoint(parent, joint, pinocchio.SE3.Random(), name)
        model.appendBodyToJoint(index, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    with pytest.raises(ValueError, match="'wrist' comes after the subtree of its parent 'elbow' has ended"):
        taut.loading.from_pinocchio(model, pinocchio.GeometryModel()).validate()


def test_pairs_are_those_a_simulator_was_made_for():
    scene = taut.scenes.make("stack", n=2)
    sim, q, v = taut.Simulator(scene), scene.q0, np.zeros(12)
    expected = sim.step(q, v)
    scene.geometry.collisionPairs[0].first = 10**6
    sim.reset()
    assert sim.step(q, v).v.tobytes() == expected.v.tobytes()
    with pytest.raises(ValueError, match="a collision pair is of shapes 1000000 and"):
        taut.Simulator(scene)


REPLACED = """
    model, geometry = pinocchio.Model(), pinocchio.GeometryModel()
    body = model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "body")
    model.appendBodyToJoint(body, pinocchio.Inertia.FromSphere(1.0, 0.1), pinocchio.SE3.Identity())
    geometry.addGeometryObject(pinocchio.GeometryObject("ball", body, pinocchio.SE3.Identity(), coal.Sphere(0.1)))
    scene = taut.loading.from_pinocchio(model, geometry)
    del geometry
    sim, q, v = taut.Simulator(scene), scene.q0, np.zeros(6)
    for radius in (0.2, 0.3):
        {how}
        gc.collect()
        {then}
    assert scene.geometry.geometryObjects[0].geometry.radius == radius
"""
REPLACE = {
    "another": "scene.geometry.geometryObjects[0].geometry = coal.Sphere(radius)",
    "a parameter": "scene.set_parameter('size:ball', [radius])",
}
THEN = {
    "step": "sim.step(q, v)",
    "rollout": "sim.rollout(q, v, steps=2)",
    "batch": "sim.jacobians(q[None], v[None], threads=2); sim.step(q, v)",
    "another thread": "other = threading.Thread(target=sim.step, args=(q, v)); other.start(); other.join()",
    "no more": "del sim; gc.collect(); sim = taut.Simulator(scene)",
}


@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("how", REPLACE)
def test_shapes_of_python_are_let_go_of_by_steps(how, then):
    """A step has no GIL, and is the last to know the shape that was replaced."""
    program = "import gc, threading, coal, numpy as np, pinocchio, taut\n"
    program += textwrap.dedent(REPLACED).format(how=REPLACE[how], then=THEN[then])
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("shape", ["Convex", "BVHModelOBBRSS"])
def test_a_shape_without_points_is_named_by_a_recorder(shape, tmp_path):
    program = "import sys, coal, taut\nscene = taut.scenes.make('ball')\nsim = taut.Simulator(scene)\n"
    program += f"scene.geometry.geometryObjects[0].geometry = coal.{shape}()\n"
    program += "try:\n    sim.record(sys.argv[1])\nexcept ValueError as error:\n    print(error)\n"
    path = tmp_path / "run.npz"
    run = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "the kind of shape of 'floor' changed" in run.stdout
    assert not path.exists()
