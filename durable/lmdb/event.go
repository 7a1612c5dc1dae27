package lmdb

import "fmt"

// Event is what Options.OnEvent hears of: a MapGrown, a Compacted or a CommitFailed. It prints
// itself.
type Event interface {
	fmt.Stringer
	event()
}

// MapGrown says that the map was doubled because the rows needed more.
type MapGrown struct {
	File     string
	From, To int64 // bytes
}

func (e MapGrown) String() string {
	return fmt.Sprintf("%s: map grown from %d to %d bytes", e.File, e.From, e.To)
}

// Compacted says that the file was written anew because much of it was free; Err says that this
// failed and that the file is as it was.
type Compacted struct {
	File          string
	Before, After int64 // bytes of the file
	Err           error
}

func (e Compacted) String() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: compaction failed, the file is as it was: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s: compacted from %d to %d bytes", e.File, e.Before, e.After)
}

// CommitFailed says that batches failed together: all of a transaction that was given up, or those
// of a table that cannot be opened. They wrote nothing and have been told so.
type CommitFailed struct {
	Dir     string
	Batches int
	Err     error
}

func (e CommitFailed) String() string {
	return fmt.Sprintf("%s: %d batches failed: %v", e.Dir, e.Batches, e.Err)
}

func (MapGrown) event()     {}
func (Compacted) event()    {}
func (CommitFailed) event() {}

var (
	_ Event = MapGrown{}
	_ Event = Compacted{}
	_ Event = CommitFailed{}
)
