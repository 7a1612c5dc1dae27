package replicated

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// The map of a shard:
//
//	'r' ‖ entity's length, 2 bytes ‖ entity ‖ name              → [version, due, every, at, tries, body]
//	't' ‖ at, 8 bytes ‖ entity's length, 2 bytes ‖ entity ‖ name  → nothing
//
// Times are nanoseconds since 1970; at sorts by its sign and then by its value. Numbers in names
// are big-endian. What holds a reminder is CBOR.
const (
	byName = 'r'
	byTime = 't'

	lenBytes  = 2
	timeBytes = 8
	signBit   = 1 << 63
	fields    = 6
)

// table is the map that a key holds.
type table = crdt.LWWMap[string, []byte]

// keyPrefix begins the keys of an entity type.
func keyPrefix(typ string) string { return "reminders/" + typ + "/" }

func keyOf(typ string, shard protocol.ShardID) string { return keyPrefix(typ) + shard.String() }

// shardOf reads the shard of a key, behind the prefix.
func shardOf(rest string) (protocol.ShardID, bool) {
	n, err := strconv.ParseUint(rest, 10, 32)
	return protocol.ShardID(n), err == nil
}

// entityPrefix begins the names of what an entity's entries hold.
func entityPrefix(id protocol.EntityID) string {
	return string(append(binary.BigEndian.AppendUint16([]byte{byName}, uint16(len(id))), id...))
}

func nameOf(k remind.Key) string { return entityPrefix(k.Entity) + k.Name }

// timeOf is the entry by time of a reminder.
func timeOf(at time.Time, k remind.Key) string {
	b := binary.BigEndian.AppendUint64([]byte{byTime}, uint64(at.UnixNano())^signBit)
	return string(b) + nameOf(k)[1:]
}

// readTime reads an entry by time.
func readTime(entry string) (at time.Time, name string, ok bool) {
	if len(entry) < 1+timeBytes+lenBytes || entry[0] != byTime {
		return time.Time{}, "", false
	}
	n := binary.BigEndian.Uint64([]byte(entry[1:]))
	return time.Unix(0, int64(n^signBit)), string(byName) + entry[1+timeBytes:], true
}

// readName reads an entry by entity and name.
func readName(entry string) (k remind.Key, ok bool) {
	if len(entry) < 1+lenBytes || entry[0] != byName {
		return k, false
	}
	n, rest := int(binary.BigEndian.Uint16([]byte(entry[1:]))), entry[1+lenBytes:]
	if n > len(rest) {
		return k, false
	}
	return remind.Key{Entity: protocol.EntityID(rest[:n]), Name: rest[n:]}, true
}

// entries are the names of a map that begin with a prefix, in order. Each comes once: hosts that have written
// one at the same time have left siblings of it, of which the map knows the one that stands.
func entries(r crdt.Reader, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		last := ""
		for it := range r.Items(crdt.KindLWWMap.Path() + prefix) {
			name := r.Rel(it)[1:]
			if name == last {
				continue
			}
			if last = name; !yield(name) {
				return
			}
		}
	}
}

// entriesBehind are the names of a map, by entity and name, that stand behind one, in order, each once. A step
// costs a descent.
func entriesBehind(r crdt.Reader, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			it := r.Seek(crdt.KindLWWMap.Path() + name + "\x00")
			if it == nil {
				return
			}
			name = r.Rel(it)[1:]
			if name == "" || name[0] != byName || !yield(name) {
				return
			}
		}
	}
}

func encode(r remind.Reminder) []byte {
	b := cbor.AppendUint(cbor.AppendArray(nil, fields), r.Version)
	b = cbor.AppendInt(b, r.Due.UnixNano())
	b = cbor.AppendInt(b, int64(r.Every))
	b = cbor.AppendInt(b, r.At.UnixNano())
	b = cbor.AppendUint(b, r.Tries)
	return cbor.AppendBytes(b, r.Body)
}

// decode reads what encode has written under a name.
func decode(name string, b []byte) (r remind.Reminder, err error) {
	k, ok := readName(name)
	if !ok {
		return r, fmt.Errorf("%w: the entry %q names none", remind.ErrDamaged, name)
	}
	rd := cbor.NewReader(b)
	rd.Tuple(fields)
	r.Entity, r.Name = k.Entity, k.Name
	r.Version = rd.UintMax(math.MaxUint64)
	r.Due = time.Unix(0, rd.Int())
	r.Every = time.Duration(rd.Int())
	r.At = time.Unix(0, rd.Int())
	r.Tries = rd.Uint32()
	r.Body = rd.Bytes(remind.BodyMax)
	if err := rd.End(); err != nil {
		return r, fmt.Errorf("%w: %v: %w", remind.ErrDamaged, k, err)
	}
	return r, nil
}
