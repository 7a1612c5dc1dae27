package lmdb

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
)

// Everything that LMDB and the system say passes through this file once, and leaves as a
// durable.Error with a path and a remedy.

const (
	remedyFull = "make room on the disk or raise the limit; what was acknowledged is safe, and commits succeed " +
		"again once there is room"
	remedyCorrupt = "put back a copy of the directory, or remove it so that this node starts from empty and " +
		"fetches everything from its peers"
	remedyVersion = "use the program that wrote it, or move the directory away to start from empty"
	remedyIO      = "look at the disk and the kernel's log; if it stays, restart this process"
)

// fault says what an error of LMDB or of package os means for the file at path.
func fault(path string, err error) error {
	if err == nil {
		return nil
	}
	if known := (*durable.Error)(nil); errors.As(err, &known) {
		return err
	}
	cause := err
	if op := (*lmdb.OpError)(nil); errors.As(err, &op) {
		cause = fmt.Errorf("%s: %w", op.Op, op.Errno) // OpError itself does not unwrap
	}
	e := &durable.Error{Kind: durable.ErrIO, Path: path, Cause: cause, Remedy: remedyIO}
	for _, c := range faultKinds {
		if errors.Is(cause, c.is) {
			e.Kind, e.Remedy = c.kind, c.remedy
			return e
		}
	}
	return e
}

var faultKinds = []struct {
	is     error
	kind   error
	remedy string
}{
	{syscall.ENOSPC, durable.ErrFull, remedyFull},
	{syscall.EDQUOT, durable.ErrFull, remedyFull},
	{syscall.EFBIG, durable.ErrFull, remedyFull},
	{lmdb.Corrupted, durable.ErrCorrupt, remedyCorrupt},
	{lmdb.PageNotFound, durable.ErrCorrupt, remedyCorrupt},
	{lmdb.Invalid, durable.ErrCorrupt, remedyCorrupt},
	{lmdb.VersionMismatch, durable.ErrVersion, remedyVersion},
	{lmdb.TxnFull, durable.ErrTooLarge, "commit in smaller batches"},
	{lmdb.DBsFull, durable.ErrTables, "raise Options.MaxTables"},
	{syscall.EACCES, durable.ErrUnwritable,
		"give this node a directory that it may make, read and write, on a local disk"},
	{syscall.EPERM, durable.ErrUnwritable,
		"give this node a directory that it may make, read and write, on a local disk"},
	{syscall.EROFS, durable.ErrUnwritable,
		"give this node a directory that it may make, read and write, on a local disk"},
}

// noRoom reports whether an error is that of a full disk, a quota or a limit.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func corrupt(path, detail string, cause error) error {
	return &durable.Error{Kind: durable.ErrCorrupt, Path: path, Detail: detail, Cause: cause, Remedy: remedyCorrupt}
}

func closedError(dir string) error {
	return &durable.Error{Kind: durable.ErrClosed, Path: dir, Remedy: "open it again"}
}
