"""A bag by RFC 8493 (BagIt 1.0) in a zip file: payload, manifests of SHA-256 digests, and facts.

Other tools verify its digests, too. An archive from elsewhere is read with distrust: nothing is extracted, names that lead out of
its folder, links, encrypted and repeated files are refused, and so is an archive that declares more than it may contain.
"""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import ScenarioError, refusal
from dumbbell.files import read_input, replacing

MANIFEST, TAG_MANIFEST = "manifest-sha256.txt", "tagmanifest-sha256.txt"
DECLARATION, INFO = "bagit.txt", "bag-info.txt"
PAYLOAD = "data/"

LARGEST_BYTES = 1 << 30
"""Largest size of all files of a bundle together, and of its archive."""

MOST_FILES = 100_000

# Archives have times; these are of no file.
TIME = (1980, 1, 1, 0, 0, 0)

BOMB = f"at most {MOST_FILES} files of {LARGEST_BYTES} bytes together"


@dataclass(frozen=True, kw_only=True)
class Bag:
    """The files of a bag, each read once.

    Parameters
    ----------
    files
        The readable files by name, without the folder that holds them.
    damaged
        Files that could not be read, and why.
    """

    files: Mapping[str, bytes]
    damaged: Mapping[str, str]

    def problems(self) -> list[str]:
        """Return what differs from the manifests, a sentence for each file."""
        found = [f"{name}: {why}" for name, why in self.damaged.items()]
        stated: set[str] = {TAG_MANIFEST}
        for manifest in (MANIFEST, TAG_MANIFEST):
            if manifest not in self.files:
                found += [] if manifest in self.damaged else [f"{manifest}: is missing"]
                continue
            for name, digest in _listed(self.files[manifest]):
                stated.add(name)
                if name in self.files and hashlib.sha256(self.files[name]).hexdigest() != digest:
                    actual = hashlib.sha256(self.files[name]).hexdigest()
                    found.append(f"{name}: its SHA-256 digest is {actual}, not {digest} as {manifest} states")
                elif name not in self.files and name not in self.damaged:
                    found.append(f"{name}: is missing, but stated in {manifest}")
        found += [f"{name}: is in no manifest" for name in self.files if name not in stated]
        return found


def _listed(manifest: bytes) -> Iterator[tuple[str, str]]:
    for line in manifest.decode(errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        if name:
            # RFC 8493 §2.1.3 writes line ends and percent signs in names so.
            yield name.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%"), digest


def write(path: Path, name: str, payload: Mapping[str, bytes], facts: Mapping[str, str]) -> None:
    """Write a bag; it appears whole or not at all.

    Parameters
    ----------
    path
        The zip file.
    name
        Name of the folder in it.
    payload
        Content by name; names are relative, of letters, digits, dots, hyphens and underscores, with ``/`` between folders.
    facts
        Lines of ``bag-info.txt``.

    Raises
    ------
    ScenarioError
        The payload is larger than a bundle may be.
    ResultsError
        The file could not be written.
    """
    size = sum(map(len, payload.values()))
    if size > LARGEST_BYTES or len(payload) > MOST_FILES:
        raise refusal(
            "bundle", f"{len(payload)} files of {size} bytes", BOMB, problem="are too many", quoted=False
        )
    files = {f"{PAYLOAD}{inner}": content for inner, content in payload.items()}
    tags = {
        DECLARATION: b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        INFO: "".join(
            f"{fact}: {text}\n" for fact, text in {**facts, "Payload-Oxum": f"{size}.{len(payload)}"}.items()
        ).encode(),
        MANIFEST: _manifest(files),
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file_name, content in {**tags, TAG_MANIFEST: _manifest(tags), **files}.items():
            info = zipfile.ZipInfo(f"{name}/{file_name}", TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content)
    with replacing(path) as file:
        file.write(made.getbuffer())


def _manifest(files: Mapping[str, bytes]) -> bytes:
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()]
    return "".join(lines).encode()


def read(path: Path) -> Bag:
    """Return the files of a bag.

    Raises
    ------
    ScenarioError
        The file is no zip archive with a bag, or is refused; the module states why.
    OSError
        It cannot be read.
    """
    content = read_input(path, LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise refusal(
            str(path), f"more than {LARGEST_BYTES} bytes", BOMB, problem="are too many", quoted=False
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _files(archive, str(path))
    except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError) as error:
        if isinstance(error, ScenarioError):
            raise
        raise refusal(
            str(path),
            str(error),
            "a bundle: dumbbell bundle create",
            problem="is no readable zip archive",
            quoted=False,
        ) from None


def _files(archive: zipfile.ZipFile, source: str) -> Bag:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    declared = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES or declared > LARGEST_BYTES:
        found = f"{len(entries)} files of {declared} bytes"
        raise refusal(source, found, BOMB, problem="are too many", quoted=False)
    names = [_checked(entry, source) for entry in archive.infolist()]
    if len({name.casefold() for name in names}) < len(names):
        repeated = next(
            name for name in names if sum(name.casefold() == other.casefold() for other in names) > 1
        )
        raise refusal(source, repeated, "files with different names", problem="is there twice")
    tops = {name.partition("/")[0] for name in names}
    if len(tops) != 1 or f"{min(tops)}/{DECLARATION}" not in names:
        raise refusal(
            source,
            ", ".join(sorted(tops)[:3]) or "nothing",
            f"one folder with {DECLARATION}",
            problem="is no bag",
        )
    files: dict[str, bytes] = {}
    damaged: dict[str, str] = {}
    for entry in entries:
        name = entry.filename.partition("/")[2]
        try:
            with archive.open(entry) as opened:
                files[name] = opened.read(entry.file_size + 1)
            if len(files[name]) != entry.file_size:
                raise zipfile.BadZipFile(f"it has {len(files[name])} bytes, not {entry.file_size}")
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            files.pop(name, None)
            damaged[name] = f"is damaged: {error}"
    return Bag(files=files, damaged=damaged)


def _checked(entry: zipfile.ZipInfo, source: str) -> str:
    """Return the name of an entry; refuse one that no bundle has."""
    name = entry.orig_filename
    kind = stat.S_IFMT(entry.external_attr >> 16)
    parts = name.removesuffix("/").split("/")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refusal(source, name, "files alone", problem="is a link or a device")
    if any(part in ("", ".", "..") for part in parts) or any(sign in name for sign in ("\\", ":", "\0")):
        raise refusal(
            source, name.replace("\0", "\\0"), "names inside the bundle", problem="leads out of the bundle"
        )
    if entry.flag_bits & 0x1:
        raise refusal(source, name, "files that are not encrypted", problem="is encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise refusal(source, name, "stored or deflated files", problem="is compressed in another way")
    return name.removesuffix("/")
