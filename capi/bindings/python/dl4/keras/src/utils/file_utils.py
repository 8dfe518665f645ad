"""get_file(): files that are downloaded once, checked by their hash and unpacked."""

import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import warnings
import zipfile


def keras_home():
    """The folder that Keras keeps files in: ~/.keras, or KERAS_HOME."""
    return os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")


def get_file(
    fname=None,
    origin=None,
    untar=False,
    md5_hash=None,
    file_hash=None,
    cache_subdir="datasets",
    hash_algorithm="auto",
    extract=False,
    archive_format="auto",
    cache_dir=None,
    force_download=False,
):
    """The path of a file in the cache, which is downloaded where it is not there or has another hash; with `extract`
    that of the folder it is unpacked to."""
    if origin is None:
        raise ValueError('Please specify the "origin" argument (URL of the file to download).')
    if md5_hash is not None and file_hash is None:
        file_hash, hash_algorithm = md5_hash, "md5"
    folder = _writable(os.path.expanduser(os.fspath(cache_dir or keras_home())), cache_subdir)
    target, unpacked = _places(folder, fname, origin, extract or untar)
    if force_download or not _is_there(target, file_hash, hash_algorithm):
        download(origin, target, file_hash, hash_algorithm)
    if not (extract or untar):
        return target
    if not extract_archive(target, unpacked, "tar" if untar else archive_format):
        warnings.warn("Could not extract archive.", stacklevel=2)
    return unpacked


def _writable(base, subdir):
    try:
        folder = os.path.join(base, subdir)
        os.makedirs(folder, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    folder = os.path.join(tempfile.gettempdir(), ".keras", subdir)
    os.makedirs(folder, exist_ok=True)
    return folder


def _places(folder, fname, origin, unpack):
    """Where the file is, and where it is unpacked to."""
    given = bool(fname)
    name = os.fspath(fname) if given else os.path.basename(urllib.parse.urlsplit(origin).path)
    if not name:
        raise ValueError(
            f"Can't parse the file name from the origin provided: '{origin}'. Please specify the `fname` argument."
        )
    if given and os.sep in name:
        raise ValueError(
            "Paths are no longer accepted as the `fname` argument. To specify the file's parent directory, use the "
            f"`cache_dir` argument. Received: fname={fname}"
        )
    if not unpack:
        return os.path.join(folder, name), None
    if given and "." in name:
        return os.path.join(folder, name), os.path.join(folder, f"{name.split('.', 1)[0]}_extracted")
    return os.path.join(folder, f"{name}_archive"), os.path.join(folder, name)


def _is_there(path, file_hash, algorithm):
    if not os.path.exists(path):
        return False
    if file_hash is None or validate_file(path, file_hash, algorithm):
        return True
    print(
        f"A local file was found, but it seems to be incomplete or outdated because the {algorithm} file hash does not "
        f"match the original value of {file_hash} so we will re-download the data."
    )
    return False


def download(origin, target, file_hash=None, algorithm="auto"):
    """Brings a file; nothing is left of one that does not arrive whole."""
    print(f"Downloading data from {origin}")
    part = f"{target}.part"
    try:
        try:
            with urllib.request.urlopen(origin, timeout=60) as source, open(part, "wb") as f:
                _copy(source, f)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as e:
            code, why = getattr(e, "code", None), getattr(e, "reason", e)
            raise OSError(
                f"URL fetch failure on {origin}: {code} -- {why}. Without a network, put the file at {target}"
                + (f" (its hash is {file_hash})" if file_hash else "")
            ) from e
        if file_hash is not None and not validate_file(part, file_hash, algorithm):
            raise ValueError(
                f"Incomplete or corrupted file detected. The {algorithm} file hash does not match the provided "
                "value of "
                f"{file_hash}."
            )
        os.replace(part, target)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _copy(source, file):
    """With the share that has arrived, where somebody looks on."""
    total, done, shown = int(source.headers.get("Content-Length") or 0), 0, -1
    watched = sys.stdout.isatty()
    for chunk in iter(lambda: source.read(1 << 16), b""):
        file.write(chunk)
        done += len(chunk)
        if watched and total and done * 100 // total != shown:
            shown = done * 100 // total
            print(f"\r{done}/{total} {shown}%", end="" if done < total else "\n", flush=True)
    if total and done < total:
        raise ConnectionError(f"{done} of {total} bytes arrived")


def hash_file(fpath, algorithm="sha256", chunk_size=65535):
    """The hash of a file in hexadecimal."""
    hasher = _hasher(algorithm, None) if isinstance(algorithm, str) else algorithm
    with open(fpath, "rb") as f:
        for chunk in iter(lambda: f.read(chunk_size), b""):
            hasher.update(chunk)
    return hasher.hexdigest()


def _hasher(algorithm, file_hash):
    if algorithm == "sha256" or (algorithm == "auto" and file_hash is not None and len(file_hash) == 64):
        return hashlib.sha256()
    if algorithm in ("md5", "auto"):
        return hashlib.md5()
    raise ValueError(f"`hash_algorithm`: expected 'auto', 'md5' or 'sha256', got {algorithm!r}")


def validate_file(fpath, file_hash, algorithm="auto", chunk_size=65535):
    """Has a file this hash?"""
    return hash_file(fpath, _hasher(algorithm, file_hash), chunk_size) == str(file_hash)


def extract_archive(file_path, path=".", archive_format="auto"):
    """Unpacks a tar or zip archive; False if it is none. What would come to stand outside of the folder is skipped."""
    if archive_format is None:
        return False
    formats = ["tar", "zip"] if archive_format == "auto" else archive_format
    for kind in [formats] if isinstance(formats, str) else formats:
        if kind not in ("tar", "zip"):
            raise NotImplementedError(kind)
        opens, known = (tarfile.open, tarfile.is_tarfile) if kind == "tar" else (zipfile.ZipFile, zipfile.is_zipfile)
        if not known(file_path):
            continue
        existed = os.path.exists(path)
        try:
            with opens(file_path) as archive:
                _unpack(archive, os.fspath(path))
        except BaseException:
            if not existed and os.path.isdir(path):
                shutil.rmtree(path)
            raise
        return True
    return False


def _unpack(archive, path):
    os.makedirs(path, exist_ok=True)
    if isinstance(archive, zipfile.ZipFile):
        members = [m for m in archive.infolist() if _stays(m.filename, m.filename, path)]
        archive.extractall(path, members=members)
        return
    members = [m for m in archive.getmembers() if _member_stays(m, path)]
    more = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    archive.extractall(path, members=members, **more)


def _stays(name, shown, base):
    """Does a name in an archive stand inside of the folder?"""
    base = os.path.realpath(base)
    if os.path.commonpath([os.path.realpath(os.path.join(base, name)), base]) == base:
        return True
    warnings.warn(f"Skipping invalid path during archive extraction: '{shown}'.", stacklevel=4)
    return False


def _member_stays(member, base):
    if member.isdev():
        warnings.warn(f"Skipping invalid path during archive extraction: '{member.name}'.", stacklevel=4)
        return False
    if not _stays(member.name, member.name, base):
        return False
    if member.issym():
        return _stays(os.path.join(os.path.dirname(member.name), member.linkname), member.name, base)
    return not member.islnk() or _stays(member.linkname, member.name, base)
