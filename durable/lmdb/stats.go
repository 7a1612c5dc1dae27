package lmdb

// Stats are counts since Open, and sizes.
type Stats struct {
	Commits uint64 // transactions that became durable
	Batches uint64 // batches in them
	Rows    uint64 // rows in them
	Bytes   uint64 // of the keys and values of those rows
	Failed  uint64 // batches that were tried and failed
	Refused uint64 // batches that were never tried: overload, bad rows, too large
	Queued  int    // bytes that wait
	MapSize int64  // bytes of address space; 0: there is no store
	File    int64  // bytes of the file; it never shrinks but by compaction at Open
}

// Stats says what the store did and holds. After Close the sizes are zero.
func (e *Env) Stats() Stats {
	s := e.writer.stats()
	if h := e.h.Load(); h != nil {
		h.gate.RLock()
		defer h.gate.RUnlock()
		if h.env != nil {
			s.MapSize = h.mapSize
			s.File, _ = h.size()
		}
	}
	return s
}

// Contents are what lies in a directory, for its operator.
type Contents struct {
	ID     uint64   // of the directory
	Store  bool     // there is a store; else no row was ever written
	Format int      // version of the store's files
	File   int64    // bytes of the file
	Free   int64    // bytes of it that no row needs
	Tables []string // by name
}

// Contents looks at the directory. It reads the list of free pages, and waits for no other
// goroutine.
func (e *Env) Contents() (Contents, error) {
	c := Contents{ID: e.ID(), Format: formatVersion}
	h := e.h.Load()
	if h == nil {
		return c, nil
	}
	c.Store = true
	var err error
	if c.Tables, err = h.tables(); err != nil {
		return c, err
	}
	c.File, c.Free, err = h.used()
	return c, fault(h.file, err)
}
