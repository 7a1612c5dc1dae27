package durable

import (
	"fmt"
	"strings"
)

// The bounds of the port, the same for every implementation.
const (
	KeyMax       = 511       // bytes of a row's key, which is what LMDB can hold
	NameMax      = 255       // bytes of a table's name
	BatchRowsMax = 2 << 20   // rows of one batch
	BatchSizeMax = 256 << 20 // bytes of one batch as Size counts them
)

// rowOverhead is what a row costs beside its key and value, roughly: the headers of its slices.
const rowOverhead = 48

// Size says how many bytes a batch counts for in bounds and queues: its keys and values, and an
// overhead per row.
func Size(rows []Row) int {
	n := rowOverhead
	for _, r := range rows {
		n += rowOverhead + len(r.Key) + len(r.Value)
	}
	return n
}

// CheckRows says what makes a batch unacceptable, before it can spoil a transaction that it shares
// with others. The error matches ErrBadRow or ErrTooLarge and names the path and the row.
func CheckRows(path string, rows []Row) error {
	if len(rows) > BatchRowsMax {
		return tooLarge(path, fmt.Sprintf("%d rows, at most %d fit in a batch", len(rows), BatchRowsMax))
	}
	if n := Size(rows); n > BatchSizeMax {
		return tooLarge(path, fmt.Sprintf("%d bytes, at most %d fit in a batch", n, BatchSizeMax))
	}
	for i, r := range rows {
		if len(r.Key) == 0 || len(r.Key) > KeyMax {
			return badRow(path, fmt.Sprintf("row %d: a key of %d bytes, from 1 to %d are allowed",
				i, len(r.Key), KeyMax))
		}
		if r.Value != nil && len(r.Value) == 0 {
			return badRow(path, fmt.Sprintf("row %d: an empty value; nil deletes, anything else starts with a "+
				"format byte", i))
		}
	}
	return nil
}

// CheckName says what makes a table's name unacceptable. The error matches ErrBadName and names the
// path.
func CheckName(path, name string) error {
	if n := len(name); n > 0 && n <= NameMax && !strings.Contains(name, "\x00") {
		return nil
	}
	return &Error{
		Kind: ErrBadName, Path: path, Detail: fmt.Sprintf("%q", name),
		Remedy: fmt.Sprintf("use 1 to %d bytes, none of them zero", NameMax),
	}
}

func tooLarge(path, detail string) error {
	return &Error{Kind: ErrTooLarge, Path: path, Detail: detail, Remedy: "commit in smaller batches"}
}

func badRow(path, detail string) error {
	return &Error{
		Kind: ErrBadRow, Path: path, Detail: detail, Remedy: "this is a mistake of the caller; nothing was written",
	}
}
