package durable

import (
	"errors"
	"strings"
)

// Errors of opening a store. None of them ever leads to a start from empty.
var (
	// ErrInUse: another process, or this one, has the directory open. The usual cause is a second
	// copy of a service with the same directory.
	ErrInUse = errors.New("store is in use")
	// ErrForeign: the directory holds files, but no store of ours. The usual cause is a wrong path.
	ErrForeign = errors.New("directory is not a store")
	// ErrVersion: the store was written in a format that this program does not know. The usual
	// cause is a downgrade.
	ErrVersion = errors.New("store has another format version")
	// ErrCorrupt: files of the store are missing, cut short or damaged. The usual causes are a
	// partial copy and a broken disk.
	ErrCorrupt = errors.New("store is damaged")
	// ErrUnwritable: the directory can not be made, read or written. The usual causes are
	// permissions, a read-only mount, a file in its place.
	ErrUnwritable = errors.New("directory is not writable")
)

// Errors that done gets, and Load. The batch wrote nothing.
var (
	// ErrFull: the disk, a quota or a limit of the file's size is reached. What was acknowledged
	// stays readable; commits succeed again once there is room.
	ErrFull = errors.New("no space left for the store")
	// ErrIO: the disk or the database failed in another way. The cause is wrapped.
	ErrIO = errors.New("store failed")
	// ErrOverloaded: too many bytes wait for the disk. The usual cause is a disk that stands still.
	ErrOverloaded = errors.New("store is overloaded")
	// ErrClosed: the Env was closed.
	ErrClosed = errors.New("store is closed")
)

// Errors that are mistakes of the caller.
var (
	// ErrBadRow: a key's length or an empty value; see Row.
	ErrBadRow = errors.New("row is not allowed")
	// ErrTooLarge: a batch above BatchRowsMax or BatchSizeMax, or one that would change more of the
	// store than one transaction can.
	ErrTooLarge = errors.New("batch is too large")
	// ErrBadName: the name of a table is empty, longer than NameMax, or holds a zero byte.
	ErrBadName = errors.New("table name is not allowed")
	// ErrTables: more tables than the store was opened for.
	ErrTables = errors.New("too many tables")
)

// Error is what every failure of a store looks like: a kind to match with errors.Is. For the
// operator it also says which file, what was found, and what to do.
type Error struct {
	Kind   error  // one of the errors above
	Path   string // the file or directory that it is about
	PID    int    // ErrInUse: the process that holds the store, 0 when not known
	Detail string // what was found, may be empty
	Remedy string // what to do
	Cause  error  // what the system said, may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("durable: ")
	b.WriteString(e.Kind.Error())
	b.WriteString(": ")
	b.WriteString(e.Path)
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	if e.Cause != nil {
		b.WriteString(": ")
		b.WriteString(e.Cause.Error())
	}
	if e.Remedy != "" {
		b.WriteString("; ")
		b.WriteString(e.Remedy)
	}
	return b.String()
}

func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
