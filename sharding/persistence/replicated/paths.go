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
// ID has its length in front, in two bytes. Numbers are big-endian, PART has two bytes.
const (
	pathHead   = "\xd3h"
	pathIntent = "\xd3i"
	pathRows   = "\xd3r"
	entities   = "\xd3e"

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

func typePrefix(typ string) string { return keyPrefix + url.PathEscape(typ) + "/" }

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
	tail := path[len(path)-10:]
	return binary.BigEndian.Uint64([]byte(tail)), tail[8:] == "\x00\x00"
}
