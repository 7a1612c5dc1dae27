package replicated

import (
	"encoding/binary"
	"net/url"
	"strings"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A shard is one key, persistence/TYPE/SHARD. Its items stand at these paths, each after the byte
// 0xd3, which is a kind of its own among those from crdt.KindUser on:
//
//	head                            the last transaction, of each seat that is not followed
//	intent                          the seats that want the shard
//	rows                            what counts of the seats before the last one
//	entity ID deleted               how far the history of an entity was deleted
//	entity ID event SEQ PART
//	entity ID forgotten UPTO        up to which number snapshots were deleted
//	entity ID snapshot SEQ PART
//	entity ID state REVISION PART
//
// Beside the shards of a type there is a key that lists them:
//
//	listed SHARD
//
// ID has its length in front, in two bytes. Numbers are big-endian, SHARD has four bytes, PART two.
const (
	pathHead   = "\xd3h"
	pathIntent = "\xd3i"
	pathRows   = "\xd3r"
	entities   = "\xd3e"
	pathListed = "\xd3l"

	deletedSub   = "d"
	eventSub     = "e"
	forgottenSub = "f"
	snapshotSub  = "s"
	stateSub     = "v"
)

// IDMax bounds the id of an entity, in bytes.
const IDMax = 2048

// keyPrefix begins the keys of all types. Package ddata/host reserves it as durable.
const keyPrefix = "persistence/"

func typePrefix(typ string) string { return listKey(typ) + "/" }

// listKey is the key that lists the shards of a type.
func listKey(typ string) string { return keyPrefix + url.PathEscape(typ) }

func keyOf(h persistence.Hosting) string { return typePrefix(h.Type) + h.Shard.String() }

// entityPath begins the paths of an entity.
func entityPath(id protocol.EntityID) string {
	var b strings.Builder
	b.Grow(len(entities) + 2 + len(id))
	b.WriteString(entities)
	b.Write(binary.BigEndian.AppendUint16(nil, uint16(len(id))))
	b.WriteString(string(id))
	return b.String()
}

// numbered is the path of the first part of what has a number.
func numbered(entity, sub string, n uint64) string {
	b := append(make([]byte, 0, len(entity)+len(sub)+10), entity...)
	b = binary.BigEndian.AppendUint64(append(b, sub...), n)
	return string(append(b, 0, 0))
}

// part is the path of a part of what is at a path.
func part(path string, i int) string {
	return string(binary.BigEndian.AppendUint16([]byte(path[:len(path)-2]), uint16(i)))
}

// numberOf is the number in a path, and whether the path is that of a first part.
func numberOf(path string) (n uint64, first bool) {
	if len(path) < 10 {
		return 0, false
	}
	tail := path[len(path)-10:]
	return binary.BigEndian.Uint64([]byte(tail)), tail[8:] == "\x00\x00"
}

// eventPath is what the path of the first item of an event says.
type eventPath struct {
	id  protocol.EntityID
	seq uint64
}

// asEvent reads a path. ok reports whether it is that of the first item of an event.
func asEvent(path string) (e eventPath, ok bool) {
	rest, ok := strings.CutPrefix(path, entities)
	if !ok || len(rest) < 2 {
		return e, false
	}
	n := int(binary.BigEndian.Uint16([]byte(rest)))
	if rest = rest[2:]; len(rest) != n+len(eventSub)+10 || rest[n:n+len(eventSub)] != eventSub {
		return e, false
	}
	seq, first := numberOf(rest)
	return eventPath{id: protocol.EntityID(rest[:n]), seq: seq}, first
}
