"""Nests of lists, tuples and dicts."""

from .src.absent import absent_from as _absent_from
from .src.structures import (
    assert_same_paths,
    assert_same_structure,
    flatten,
    flatten_with_path,
    is_nested,
    lists_to_tuples,
    map_shape_structure,
    map_structure,
    map_structure_up_to,
    MAP_TO_NONE,
    pack_sequence_as,
    traverse,
)

__getattr__ = _absent_from(__name__)
