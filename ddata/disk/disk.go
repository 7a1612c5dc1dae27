package disk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Dir is a node's directory: a table of rows for each replicator, once there are rows, and the
// membership's record as its note. Its methods are safe for concurrent use.
type Dir struct {
	env   *lmdb.Env
	since time.Time // the last node on it has done nothing since
	marks *marker
}

// Open opens a directory, and makes it if it is not there. lease is how long a lease lasts that the
// node grants to others: marks are half of it ahead. emit hears of what the store does.
func Open(path string, opts lmdb.Options, lease time.Duration, emit func(events.Event)) (*Dir, error) {
	opts.OnEvent = told(emit)
	env, err := lmdb.Open(path, opts)
	if err != nil {
		return nil, fmt.Errorf("ddata: Config.Dir: %w", err)
	}
	warn := func(cause error, kept bool) { emit(events.StoreUnmarked{Dir: env.Dir(), Kept: kept, Err: cause}) }
	return &Dir{
		env: env, since: time.Now().Add(-env.Idle()), marks: newMarker(env.Mark, env.Unmark, lease, warn),
	}, nil
}

// told tells the node what the store did. Of a commit that failed each batch tells its owner.
func told(emit func(events.Event)) func(lmdb.Event) {
	return func(e lmdb.Event) {
		switch e := e.(type) {
		case lmdb.MapGrown:
			emit(events.StoreGrown(e))
		case lmdb.Compacted:
			emit(events.StoreCompacted(e))
		}
	}
}

// Suits returns an error if a node with such a uid cannot run on the directory (membership.CheckUID). It reports
// the data of roles that the node does not have: no caller can reach it here.
func (d *Dir) Suits(uid view.UID, roles []string, emit func(events.Event)) error {
	if err := membership.CheckUID(d.Record(), uid); err != nil {
		return err
	}
	c, err := d.env.Contents()
	if err != nil {
		return fmt.Errorf("ddata: Config.Dir: %w", err)
	}
	for _, table := range c.Tables {
		if set, ok := rows.Dataset(table); ok && !slices.Contains(roles, set.Role) {
			emit(events.StaleRole{Dataset: set, Dir: d.env.Dir(), Roles: roles})
		}
	}
	return nil
}

// ID names the directory in the view.
func (d *Dir) ID() view.DiskID { return view.DiskID(d.env.ID()) }

// Since is the time since which the last node on the directory has done nothing.
func (d *Dir) Since() time.Time { return d.since }

// Ended reports whether the last node on the directory has ended for certain.
func (d *Dir) Ended() bool { return d.env.Ended() }

// Covers reports whether the next node on the directory will count what this one computes at a time.
// What is not covered must not be sent, if it grants a lease.
func (d *Dir) Covers(now time.Time) bool { return d.marks.covers(now) }

// BeforeMarks has fn called before each later mark is written, which waits for it. It is for tests of
// disks that hang.
func (d *Dir) BeforeMarks(fn func()) { d.marks.before(fn) }

// Stats says what the store did since the start, and how large it is.
func (d *Dir) Stats() lmdb.Stats { return d.env.Stats() }

// Record is the membership's record as the last incarnation left it, nil at first.
func (d *Dir) Record() []byte { return d.env.Note() }

// PutRecord stores the membership's record and returns when it is durable.
func (d *Dir) PutRecord(record []byte) error {
	if err := d.env.SetNote(bytes.Clone(record)); err != nil {
		return err
	}
	_ = d.marks.move() // no mark from before this record counts any more; without a new one this node grants nothing
	return nil
}

// Load finds the table of a dataset and what it holds. Items are read ahead, on a goroutine that ends
// with them.
func (d *Dir) Load(set keyspace.Dataset) (durable.Table, replicator.Loaded, error) {
	t, err := d.env.Table(rows.Table(set))
	if err != nil {
		return nil, replicator.Loaded{}, err
	}
	loaded, err := rows.Load(t)
	loaded.Items = ahead(loaded.Items)
	return t, loaded, err
}

// Damaged says that the rows of a dataset do not make sense, unless the store has said what is wrong.
func (d *Dir) Damaged(set keyspace.Dataset, cause error) error {
	if known := (*durable.Error)(nil); errors.As(cause, &known) {
		return fmt.Errorf("ddata: Config.Dir: load the %v: %w", set, cause)
	}
	return fmt.Errorf("ddata: Config.Dir: %w", &durable.Error{Kind: durable.ErrCorrupt, Path: d.env.Dir(),
		Detail: fmt.Sprintf("the rows of the %v", set), Cause: cause,
		Remedy: "put back a copy of the directory, or remove it so that this node starts from empty and fetches " +
			"everything from its peers; " +
			"coterie data verify says more"})
}

// Close gives the directory back. The node must do nothing any more.
func (d *Dir) Close() {
	d.marks.stop()
	_ = d.env.Close()
}
