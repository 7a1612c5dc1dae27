package record

import (
	"fmt"

	"github.com/coterie-go/coterie/proptest/defect"
)

// Store tells how much of what a node has to remember is on its disk. Records are numbered; each
// replaces the one before.
//
//	Put ──► Write ──► (the driver) ──► Written ──► what waited for this record, or an older one, goes on
//
// Invariant: stored ≤ writing ≤ issued while a record is written, and writing is 0 otherwise.
type Store struct {
	name    string     // of the cluster
	keeps   bool       // there is a disk
	record  Record     // the newest
	issued  uint64     // the number of record
	writing uint64     // the one that the driver has; 0 = none
	stored  uint64     // the newest on disk
	defects defect.Set // planted by a test
}

// NewStore returns the Store of a node of a cluster. A node without a disk remembers nothing, and
// waits for nothing.
func NewStore(name string, keeps bool, defects defect.Set) *Store {
	return &Store{name: name, keeps: keeps, defects: defects}
}

// Load takes the record that the disk holds.
func (s *Store) Load(r Record) { s.record = r }

// Record returns the newest record. Its views are not to be modified.
func (s *Store) Record() Record { return s.record }

// Put makes r the newest record, and returns its number. The disk gets it by the next Write that
// returns one.
func (s *Store) Put(r Record) (number uint64) {
	r.Name = s.name
	s.record = r
	s.issued++
	if !s.keeps {
		s.stored = s.issued
	}
	return s.issued
}

// IsStored reports whether a record, or one that replaced it, is on disk.
func (s *Store) IsStored(number uint64) bool {
	return number <= s.stored || s.defects.Planted(defect.ToldUnstored)
}

// Newest is the number of the newest record.
func (s *Store) Newest() uint64 { return s.issued }

// Stored is the number of the newest record on disk.
func (s *Store) Stored() uint64 { return s.stored }

// Write returns the newest record for the driver, which has at most one at a time; nil = none is to
// be written now. The bytes are the caller's.
func (s *Store) Write() []byte {
	if s.writing != 0 || s.stored >= s.issued {
		return nil
	}
	s.writing = s.issued
	return s.record.Encode()
}

// IsWriting reports whether the driver has a record that is not written yet.
func (s *Store) IsWriting() bool { return s.writing != 0 }

// Written notes that the driver has written its record.
func (s *Store) Written() { s.stored, s.writing = s.writing, 0 }

// Check verifies the invariant. Tests call it after every step.
func (s *Store) Check() error {
	if s.writing != 0 && (s.writing <= s.stored || s.writing > s.issued) || s.writing == 0 && s.stored != s.issued {
		return fmt.Errorf("record %d is being written, after %d of %d", s.writing, s.stored, s.issued)
	}
	return nil
}
