package iblt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Cell is the exclusive or of numbers and of their checks.
type Cell struct {
	ID    uint64
	Check uint32
}

func (c *Cell) blank() bool { return c.ID == 0 && c.Check == 0 }

// Sketch is the beginning of the row of cells of a set.
type Sketch struct {
	key   Key
	cells []Cell
	mask  uint64 // the blocks that begin within the cells
}

// New returns the sketch of the empty set with n cells, 1 to CellsMax.
func New(key Key, n int) *Sketch {
	n = min(max(n, 1), CellsMax)
	return &Sketch{key: key, cells: make([]Cell, n), mask: 1<<blocksUpTo(n) - 1}
}

// Len counts the cells.
func (s *Sketch) Len() int { return len(s.cells) }

// Cells returns the cells. They change with the sketch and must not be modified.
func (s *Sketch) Cells() []Cell { return s.cells }

// Prefix returns a copy of the first n cells, of all when there are fewer.
func (s *Sketch) Prefix(n int) *Sketch {
	out := New(s.key, min(n, len(s.cells)))
	copy(out.cells, s.cells)
	return out
}

// Toggle puts a number into the set, or takes it away if it is there.
func (s *Sketch) Toggle(id uint64) {
	hash := s.key.Mix(id)
	check := uint32(hash)
	cells := s.cells
	cells[0].ID ^= id
	cells[0].Check ^= check
	for set := s.key.blocksOf(hash) & s.mask; set != 0; set &= set - 1 {
		if j := blocks[bits.TrailingZeros64(set)].at(hash); j < uint64(len(cells)) {
			cells[j].ID ^= id
			cells[j].Check ^= check
		}
	}
}

// CellBytes is the length of an encoded cell.
const CellBytes = 12

// ErrCells is returned for bytes that are not whole cells.
var ErrCells = errors.New("iblt: not whole cells")

// AppendCells appends the encoding of cells: of each the number and the check, the high byte first.
func AppendCells(dst []byte, cells []Cell) []byte {
	for i := range cells {
		dst = binary.BigEndian.AppendUint64(dst, cells[i].ID)
		dst = binary.BigEndian.AppendUint32(dst, cells[i].Check)
	}
	return dst
}

// DecodeCells decodes what AppendCells made.
func DecodeCells(b []byte) ([]Cell, error) {
	if len(b)%CellBytes != 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrCells, len(b))
	}
	cells := make([]Cell, len(b)/CellBytes)
	for i := range cells {
		cells[i] = Cell{ID: binary.BigEndian.Uint64(b[i*CellBytes:]), Check: binary.BigEndian.Uint32(b[i*CellBytes+8:])}
	}
	return cells, nil
}
