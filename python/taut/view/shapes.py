"""Coal's shapes as triangles."""

from __future__ import annotations

import coal
import fast_simplification
import numpy as np
import trimesh

SAME = 2.0**-14  # of a mesh's size: vertices closer than this are the same

Mesh = tuple[np.ndarray, np.ndarray]  # vertices (n, 3) float32, faces (m, 3) uint32


def mesh_of(shape: coal.CollisionGeometry, limit: int = 6_000) -> Mesh | None:
    """Triangles of a shape, in its frame; None for one without bounds, such as a floor. A mesh is simplified to about
    `limit` faces."""
    if isinstance(shape, coal.Halfspace | coal.Plane):
        return None
    if isinstance(shape, coal.Box):
        return box(2 * shape.halfSide)
    if isinstance(shape, coal.Sphere):
        return _packed(trimesh.creation.icosphere(subdivisions=3, radius=shape.radius))
    if isinstance(shape, coal.Ellipsoid):
        ball = trimesh.creation.icosphere(subdivisions=3)
        return _packed(ball.apply_scale(shape.radii))
    if isinstance(shape, coal.Capsule):
        capsule = trimesh.creation.capsule(height=2 * shape.halfLength, radius=shape.radius)
        middle = capsule.bounds.mean(axis=0)  # wherever trimesh puts its origin
        return _packed(capsule.apply_translation(-middle))
    if isinstance(shape, coal.Cylinder):
        return _packed(trimesh.creation.cylinder(radius=shape.radius, height=2 * shape.halfLength))
    if isinstance(shape, coal.Cone):
        cone = trimesh.creation.cone(radius=shape.radius, height=2 * shape.halfLength)
        return _packed(cone.apply_translation([0, 0, -shape.halfLength]))
    if isinstance(shape, coal.BVHModelBase):
        triangles = (shape.tri_indices(k) for k in range(shape.num_tris))
        faces = np.array([(t[0], t[1], t[2]) for t in triangles]).reshape(-1, 3)
        return simplified(np.array(shape.vertices()), faces, limit)
    if isinstance(shape, coal.HeightFieldOBBRSS | coal.HeightFieldAABB):
        return _height_field(shape)
    points = np.array(shape.points() if hasattr(shape, "points") else _corners(shape))
    return _packed(trimesh.convex.convex_hull(points))


def box(sides: np.ndarray) -> Mesh:
    return _packed(trimesh.creation.box(extents=sides))


def mesh_of_plane(shape: coal.Halfspace | coal.Plane, side: float = 2.0) -> Mesh:
    """A square of a plane, around the point nearest to its origin, for one that moves."""
    turn = trimesh.geometry.align_vectors([0, 0, 1], shape.n)[:3, :3]
    corners = 0.5 * side * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    vertices = corners @ turn.T + shape.d * np.asarray(shape.n)
    return vertices.astype(np.float32), np.array([[0, 1, 2], [0, 2, 3]], np.uint32)


def _corners(shape: coal.CollisionGeometry) -> np.ndarray:
    """Of the box around a shape nobody has drawn yet."""
    shape.computeLocalAABB()
    low, high = shape.aabb_local.min_, shape.aabb_local.max_
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])


def _height_field(shape: coal.HeightFieldOBBRSS) -> Mesh:
    x, y, z = np.array(shape.getXGrid()), np.array(shape.getYGrid()), np.array(shape.getHeights())
    columns, rows = len(x), len(y)
    vertices = np.stack([np.tile(x, rows), np.repeat(y, columns), z.reshape(rows, columns).ravel()], axis=-1)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    up = 1 if y[-1] > y[0] else -1  # Coal's rows go down from the highest y
    one = np.stack([corner, corner + 1, corner + columns][::up], axis=-1)
    other = np.stack([corner + 1, corner + columns + 1, corner + columns][::up], axis=-1)
    return vertices.astype(np.float32), np.concatenate([one, other]).astype(np.uint32)


def simplified(vertices: np.ndarray, faces: np.ndarray, limit: int) -> Mesh:
    """About `limit` faces: vertices that are one in all but name become one, then edges collapse where it shows least.
    Of a mesh in many parts, whose borders that keeps, more may stay."""
    size = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
    kept, merged = _clustered(vertices, faces, size * SAME if size else 1.0)
    if len(merged) > limit:
        kept, merged = fast_simplification.simplify(kept.astype(np.float32), merged, target_count=limit)
    return kept.astype(np.float32), merged.astype(np.uint32)


def _clustered(vertices: np.ndarray, faces: np.ndarray, cell: float) -> Mesh:
    x, y, z = np.round((vertices - vertices.min(axis=0)) / cell).astype(np.int64).T
    _, group, count = np.unique((x << 42) | (y << 21) | z, return_inverse=True, return_counts=True)
    middles = np.stack([np.bincount(group, column) / count for column in vertices.T], axis=-1)
    merged = group[faces]
    whole = (merged[:, 0] != merged[:, 1]) & (merged[:, 1] != merged[:, 2]) & (merged[:, 2] != merged[:, 0])
    return middles, np.unique(merged[whole], axis=0)


def _packed(mesh: trimesh.Trimesh) -> Mesh:
    return np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.uint32)
