package lmdb

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The arrays of the values; names, tags and ids are byte strings, times are microseconds since 1970:
//
//	"f"  era, epoch, up, seq
//	"h"  type, id, deleted, last, written
//	"e"  name, version, time, [tag …], body
//	"s"  name, version, time, body
//	"v"  type, id, revision, deleted, name, version, time, [tag …], body, written
//	"l"  id, seq
//	"n"  number
//
// written is shard, era, epoch, up, seq, id and after of the last write.
const (
	kindFence    = 'f'
	kindHead     = 'h'
	kindEvent    = 'e'
	kindSnapshot = 's'
	kindState    = 'v'
	kindEntry    = 'l'

	valueFormat = 1
	sumSize     = 8
	valueHead   = 1 + sumSize // of a value, before its array
	numberSize  = 8           // of an event, between the head and its array

	// IDMax bounds the id of an entity, in bytes.
	IDMax = 2048
)

var numberKey = []byte("n")

// ref names an entity in keys.
type ref [sha256.Size]byte

func refOf(typ string, id protocol.EntityID) ref {
	return sha256.Sum256(cbor.AppendBytes(cbor.AppendBytes(cbor.AppendArray(nil, 2), typ), string(id)))
}

func (r ref) key(kind byte) []byte { return append([]byte{kind}, r[:]...) }

func (r ref) keyAt(kind byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(r.key(kind), seq)
}

func fenceKey(h persistence.Hosting) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kindFence}, uint32(h.Shard)), h.Type...)
}

func entryKey(typ string, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append([]byte{kindEntry, byte(len(typ))}, typ...), number)
}

// seqOf is the number at the end of a key.
func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// sealed puts format and checksum before the array of a value.
func sealed(key, array []byte) []byte {
	return seal(key, append(make([]byte, valueHead, valueHead+len(array)), array...))
}

// seal sets format and checksum of a value that has room for them.
func seal(key, value []byte) []byte {
	value[0] = valueFormat
	binary.BigEndian.PutUint64(value[1:], sumOf(key, value[valueHead:]))
	return value
}

func sumOf(key, rest []byte) uint64 {
	h := xxh3.New()
	_, _ = h.Write(key)
	_, _ = h.Write(rest)
	return h.Sum64()
}

// unseal returns what a value holds behind its checksum.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < valueHead || binary.BigEndian.Uint64(value[1:]) != sumOf(key, value[valueHead:]) {
		return nil, fmt.Errorf("%w: the checksum of a value of %d bytes does not fit",
			persistence.ErrDamaged, len(value))
	}
	if value[0] != valueFormat {
		return nil, fmt.Errorf("%w: a value has format %d", persistence.ErrVersion, value[0])
	}
	return value[valueHead:], nil
}

// get reads a value, nil if there is none.
func get(v *disk.Moment, key []byte) (*cbor.Reader, error) {
	value, err := v.Get(key)
	if err != nil || value == nil {
		return nil, err
	}
	array, err := unseal(key, value)
	return cbor.NewReader(array), err
}

// ended returns what was wrong with an array.
func ended(r *cbor.Reader) error {
	if err := r.End(); err != nil {
		return fmt.Errorf("%w: %w", persistence.ErrDamaged, err)
	}
	return nil
}

func appendToken(b []byte, t singleton.FencingToken) []byte {
	return cbor.AppendUints(b, uint64(t.Era), uint64(t.Epoch), uint64(t.Up), t.Seq)
}

func readToken(r *cbor.Reader) singleton.FencingToken {
	return singleton.FencingToken{Era: view.Era(r.Uint()), Epoch: view.Epoch(r.Uint()), Up: r.Uint32(), Seq: r.Uint()}
}

func fenceRow(h persistence.Hosting) durable.Row {
	key := fenceKey(h)
	return durable.Row{Key: key, Value: sealed(key, appendToken(cbor.AppendArray(nil, 4), h.Token))}
}

func readFence(v *disk.Moment, h persistence.Hosting) (t singleton.FencingToken, found bool, err error) {
	r, err := get(v, fenceKey(h))
	if err == nil && r != nil {
		r.Tuple(4)
		t = readToken(r)
		err = ended(r)
	}
	if err != nil {
		return t, false, fmt.Errorf("the fence of shard %v of %q: %w", h.Shard, h.Type, err)
	}
	return t, r != nil, nil
}

func numberValue(n uint64) []byte {
	return sealed(numberKey, cbor.AppendUint(cbor.AppendArray(nil, 1), n))
}

func readNumber(v *disk.Moment) (n uint64, err error) {
	r, err := get(v, numberKey)
	if err == nil && r != nil {
		r.Tuple(1)
		n = r.Uint()
		err = ended(r)
	}
	if err != nil {
		return 0, fmt.Errorf("the number of the last event: %w", err)
	}
	return n, nil
}

// written says which write made the end of a history, or a state.
type written struct {
	shard protocol.ShardID
	token singleton.FencingToken
	id    uint64
	after uint64
}

func writtenBy(h persistence.Hosting, id, after uint64) written {
	return written{shard: h.Shard, token: h.Token, id: id, after: after}
}

func (w written) append(b []byte) []byte {
	b = cbor.AppendUint(cbor.AppendArray(b, 7), uint32(w.shard))
	return cbor.AppendUints(appendToken(b, w.token), w.id, w.after)
}

func readWritten(r *cbor.Reader) (w written) {
	r.Tuple(7)
	w.shard, w.token = protocol.ShardID(r.Uint32()), readToken(r)
	w.id, w.after = r.Uint(), r.Uint()
	return w
}

// head is where the history of an entity begins and ends.
type head struct {
	end  persistence.End
	last written
}

func (h head) row(typ string, id protocol.EntityID) durable.Row {
	key := refOf(typ, id).key(kindHead)
	b := cbor.AppendBytes(cbor.AppendBytes(cbor.AppendArray(nil, 5), typ), string(id))
	return durable.Row{Key: key, Value: sealed(key, h.last.append(cbor.AppendUints(b, h.end.Deleted, h.end.Last)))}
}

func readHead(v *disk.Moment, typ string, id protocol.EntityID) (h head, err error) {
	r, err := get(v, refOf(typ, id).key(kindHead))
	if err == nil && r != nil {
		r.Tuple(5)
		_, _ = r.Bytes(persistence.NameMax), r.Bytes(IDMax)
		h.end.Deleted, h.end.Last = r.Uint(), r.Uint()
		h.last = readWritten(r)
		err = ended(r)
	}
	if err != nil {
		return head{}, fmt.Errorf("the end of entity %v of %q: %w", id, typ, err)
	}
	return h, nil
}

// value is what events, snapshots and states have in common.
type value struct {
	name    string
	version uint32
	at      time.Time
	tags    []string
	body    []byte
}

func (v value) appendHead(b []byte) []byte {
	b = cbor.AppendUint(cbor.AppendBytes(b, v.name), v.version)
	return cbor.AppendInt(b, v.at.UnixMicro())
}

func (v value) appendTags(b []byte) []byte {
	b = cbor.AppendArray(b, len(v.tags))
	for _, tag := range v.tags {
		b = cbor.AppendBytes(b, tag)
	}
	return b
}

func (v *value) readHead(r *cbor.Reader) {
	v.name, v.version = string(r.Bytes(persistence.NameMax)), r.Uint32()
	v.at = time.UnixMicro(r.Int()).UTC()
}

func (v *value) readTags(r *cbor.Reader) {
	for range r.Array(persistence.TagsMax) {
		v.tags = append(v.tags, string(r.Bytes(persistence.NameMax)))
	}
}

// eventRow makes the row of an event. It has no number yet: see setNumber.
func eventRow(of ref, e persistence.Event) durable.Row {
	v := value{name: e.Name, version: e.Version, at: e.At, tags: e.Tags, body: e.Body}
	b := make([]byte, valueHead+numberSize, valueHead+numberSize+len(e.Body)+64)
	b = v.appendTags(v.appendHead(cbor.AppendArray(b, 5)))
	return durable.Row{Key: of.keyAt(kindEvent, e.Seq), Value: cbor.AppendBytes(b, e.Body)}
}

// setNumber completes the row of an event.
func setNumber(row durable.Row, number uint64) {
	binary.BigEndian.PutUint64(row.Value[valueHead:], number)
	seal(row.Key, row.Value)
}

// readEvent reads the row of an event. What it returns refers to the row.
func readEvent(row durable.Row) (e persistence.Event, number uint64, err error) {
	rest, err := unseal(row.Key, row.Value)
	if err == nil && len(rest) < numberSize {
		err = fmt.Errorf("%w: a value of %d bytes", persistence.ErrDamaged, len(rest))
	}
	if err != nil {
		return e, 0, err
	}
	var v value
	r := cbor.NewReader(rest[numberSize:])
	r.Tuple(5)
	v.readHead(r)
	v.readTags(r)
	v.body = r.Bytes(persistence.BodyMax)
	e = persistence.Event{
		Seq: seqOf(row.Key), Name: v.name, Version: v.version, Body: v.body, Tags: v.tags, At: v.at,
	}
	return e, binary.BigEndian.Uint64(rest), ended(r)
}

// entryValue is what a reader meets at the number of an event.
func entryValue(id protocol.EntityID, seq uint64) []byte {
	return cbor.AppendUint(cbor.AppendBytes(cbor.AppendArray(nil, 2), string(id)), seq)
}

func readEntry(row durable.Row) (id protocol.EntityID, seq uint64, err error) {
	array, err := unseal(row.Key, row.Value)
	if err != nil {
		return "", 0, err
	}
	r := cbor.NewReader(array)
	r.Tuple(2)
	id, seq = protocol.EntityID(r.Bytes(IDMax)), r.Uint()
	return id, seq, ended(r)
}
