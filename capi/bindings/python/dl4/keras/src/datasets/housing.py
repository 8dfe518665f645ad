"""Prices of houses in Boston and in California."""

from ..backend.lazy import np
from .archives import fetched, need_share, shuffled


def _parts(x, y, test_split, seed):
    x, y = shuffled(seed, x, y)
    at = int(len(x) * (1 - test_split))
    return (np.array(x[:at]), np.array(y[:at])), (np.array(x[at:]), np.array(y[at:]))


def boston(path="boston_housing.npz", test_split=0.2, seed=113):
    """(x_train, y_train), (x_test, y_test): 13 features of a place, and its price."""
    need_share(test_split)
    path = fetched(path, "boston_housing.npz", "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5")
    with np.load(path, allow_pickle=False) as f:
        return _parts(f["x"], f["y"], test_split, seed)


def california(version="large", path="california_housing.npz", test_split=0.2, seed=113):
    """(x_train, y_train), (x_test, y_test): 8 features of a district, and its median price."""
    need_share(test_split)
    if version not in ("small", "large"):
        raise ValueError(f"Argument `version` must be one of 'small', 'large'. Received: version={version}")
    path = fetched(path, "california_housing.npz", "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f")
    with np.load(path, allow_pickle=False) as f:
        x, y = f["x"], f["y"]
    return _parts(*((x[:600], y[:600]) if version == "small" else (x, y)), test_split, seed)
