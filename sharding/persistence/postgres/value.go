package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// appendTags encodes tags, each after a byte with its length. It returns nil for none.
func appendTags(tags []string) []byte {
	var b []byte
	for _, t := range tags {
		b = append(append(b, byte(len(t))), t...)
	}
	return b
}

func readTags(b []byte) (tags []string, err error) {
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < 1+n {
			return nil, errors.New("the tags end too early")
		}
		tags = append(tags, string(b[1:1+n]))
		b = b[1+n:]
	}
	return tags, nil
}

// summer makes checksums of what is stored: the body, and all that belongs to it.
type summer struct{ hash *xxh3.Hasher }

func newSummer() summer { return summer{xxh3.New()} }

// row is what the checksum of a row covers. flags are the bits that a table has beside it.
type row struct {
	entity, name, tags, body []byte
	seq, version, at, flags  int64
}

func (s summer) sum(r row) int64 {
	return s.all([]int64{r.seq, r.version, r.at, r.flags}, r.entity, r.name, r.tags, r.body)
}

// all covers numbers, and parts with their lengths.
func (s summer) all(numbers []int64, parts ...[]byte) int64 {
	s.hash.Reset()
	var room [16 * 8]byte
	head := room[:0]
	for _, n := range numbers {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	for _, part := range parts {
		head = binary.LittleEndian.AppendUint64(head, uint64(len(part)))
	}
	_, _ = s.hash.Write(head) // a hash takes all
	for _, part := range parts {
		_, _ = s.hash.Write(part)
	}
	return int64(s.hash.Sum64())
}

// damaged says what is wrong with a row of an entity.
func damaged(id protocol.EntityID, seq int64, what string) error {
	return fmt.Errorf("postgres: entity %v, sequence number %d: %s: %w", id, seq, what, persistence.ErrDamaged)
}

// whole returns bytes that are stored as empty and not as missing.
func whole(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func fromMicros(at int64) time.Time { return time.UnixMicro(at).UTC() }
