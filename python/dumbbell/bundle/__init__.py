"""Bundles: results with everything that another machine needs to compute them again and compare every bit.

`bag`
    The archive: a bag by RFC 8493 in a zip file, written whole and read with distrust.
`contents`
    What is in it: scenarios, seeds, tables, figures, code, a README.
`creating`, `verifying`
    `create` and `verify`.
"""

from dumbbell.bundle.creating import create
from dumbbell.bundle.verifying import Verification, verify

__all__ = ["Verification", "create", "verify"]
