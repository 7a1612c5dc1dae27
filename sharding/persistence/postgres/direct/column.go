package direct

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
)

// Column is an argument that is an array of one dimension. Elements are added by the method of its type.
type Column struct {
	oid  uint32 // of an element
	n    int32
	null bool // an element is NULL
	b    []byte
}

// headBytes is the length of what comes before the elements: how many dimensions, whether an element is NULL,
// the type of the elements, their number, and the number of the first one.
const headBytes = 5 * 4

// Of returns a column for elements of a type: pgtype.ByteaOID, Int8OID, Int4OID or Int2OID. Reset begins it.
func Of(oid uint32) Column { return Column{oid: oid} }

// Reset makes a column that has no elements, and keeps its memory.
func (c *Column) Reset() { *c = Column{oid: c.oid, b: append(c.b[:0], make([]byte, headBytes)...)} }

// Len returns how many elements there are.
func (c *Column) Len() int32 { return c.n }

// Room returns how many bytes of memory the column has.
func (c *Column) Room() int { return cap(c.b) }

// Type returns the type of the argument.
func (c *Column) Type() uint32 {
	return map[uint32]uint32{
		pgtype.ByteaOID: pgtype.ByteaArrayOID, pgtype.Int8OID: pgtype.Int8ArrayOID,
		pgtype.Int4OID: pgtype.Int4ArrayOID, pgtype.Int2OID: pgtype.Int2ArrayOID,
	}[c.oid]
}

func (c *Column) size(n int) {
	c.n++
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(n))
}

// Int2 adds an element.
func (c *Column) Int2(v int16) {
	c.size(2)
	c.b = binary.BigEndian.AppendUint16(c.b, uint16(v))
}

// Int4 adds an element.
func (c *Column) Int4(v int32) {
	c.size(4)
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(v))
}

// Int8 adds an element.
func (c *Column) Int8(v int64) {
	c.size(8)
	c.b = binary.BigEndian.AppendUint64(c.b, uint64(v))
}

// Bytes adds an element; nil is NULL.
func (c *Column) Bytes(v []byte) {
	if v == nil {
		c.null = true
		c.size(-1)
		return
	}
	c.size(len(v))
	c.b = append(c.b, v...)
}

// Argument returns the column as an argument, which is valid until the column changes.
func (c *Column) Argument() []byte {
	nulls := uint32(0)
	if c.null {
		nulls = 1
	}
	for i, v := range []uint32{1, nulls, c.oid, uint32(c.n), 1} {
		binary.BigEndian.PutUint32(c.b[4*i:], v)
	}
	return c.b
}

// Int4 returns an argument that is one number.
func Int4(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

// Bool returns an argument that is true or false.
func Bool(v bool) []byte {
	if v {
		return []byte{1}
	}
	return []byte{0}
}
