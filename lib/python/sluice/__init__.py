# SPDX-License-Identifier: BSD-3-Clause
"""Bulk transport through a running sluiced, paced by its receivers: libsluice for Python.

    import sluice

    with sluice.Session() as session:
        view = session.alloc(1 << 20)             # memory that the daemon sends from, as it is
        with session.connect("192.0.2.20") as connection:
            connection.send(view).wait()          # the peer has it
            connection.finish()                   # both sides have everything

sluice.files moves files. sluice.aio has the same for asyncio. doc/python.md, or /usr/share/doc/sluice/python.md, is the manual.
"""
from ._handle import lib as _lib, text_of as _text_of
from .errors import (Canceled, Closed, EndOfData, Full, LocalFile, NoDaemon, NoProgram, NoReceiver, NotAllowed, NotOurs,
                     OtherThread, OutOfResources, PeerFile, PeerSilent, Refused, Reset, Shut, SluiceError, Taken, TooLong,
                     TransferFailed, Unreachable, WaitTimeout)
from .files import Command, FileReceiver, Transfer, recv_files, send_files
from .session import PORT_DEFAULT, REQUEST_MAX, Connection, Data, Listener, Op, Request, Session, State, Stats

__version__ = _text_of(_lib.sluice_version())  # of libsluice

__all__ = [
    "PORT_DEFAULT", "REQUEST_MAX", "Canceled", "Closed", "Command", "Connection", "Data", "EndOfData", "FileReceiver", "Full",
    "Listener", "LocalFile", "NoDaemon", "NoProgram", "NoReceiver", "NotAllowed", "NotOurs", "Op", "OtherThread",
    "OutOfResources", "PeerFile", "PeerSilent", "Refused", "Request", "Reset", "Session", "Shut", "SluiceError", "State",
    "Stats", "Taken", "TooLong", "Transfer", "TransferFailed", "Unreachable", "WaitTimeout", "recv_files", "send_files",
]
