package replicated

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	views "github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Payloads are arrays in CBOR; the format is their first element:
//
//	record   [format, name, version, at, tags, deleted, parts, written, body]
//	mark     [format, number, written]
//	written  null, or [era, epoch, up, seq, id, after]
//	head     [format, era, epoch, up, seq, turn, from]
//	intent   [format, era, epoch, up, seq, turn]
//	rows     [format, sweep, number, [origin, first, last, number, …]]
//	listed   [format]
//
// A body that is larger than a payload may be goes on in parts, which are payloads of bytes alone.
const (
	format = 1

	inlineMax = crdt.PayloadMax - 64<<10 // bytes of the body in its first item
	partMax   = crdt.PayloadMax          // bytes in each of the others
)

// written says which write of which hosting made something. The zero value is none.
type written struct {
	token singleton.FencingToken
	id    uint64
	after uint64
	known bool
}

func writtenBy(h persistence.Hosting, id, after uint64) written {
	return written{token: h.Token, id: id, after: after, known: true}
}

func (w written) append(b []byte) []byte {
	if !w.known {
		return cbor.AppendNull(b)
	}
	return cbor.AppendUints(appendToken(cbor.AppendArray(b, 6), w.token), w.id, w.after)
}

func readWritten(r *cbor.Reader) (w written) {
	if r.Null() {
		return w
	}
	r.Tuple(6)
	return written{token: readToken(r), id: r.Uint(), after: r.Uint(), known: true}
}

func appendToken(b []byte, t singleton.FencingToken) []byte {
	return cbor.AppendUints(b, uint64(t.Era), uint64(t.Epoch), uint64(t.Up), t.Seq)
}

func readToken(r *cbor.Reader) singleton.FencingToken {
	return singleton.FencingToken{Era: views.Era(r.Uint()), Epoch: views.Epoch(r.Uint()), Up: r.Uint32(), Seq: r.Uint()}
}

// record is what events, snapshots and states have in common.
type record struct {
	name    string
	version uint32
	at      time.Time
	tags    []string
	deleted bool // a state: there is no value
	by      written
	body    []byte
}

// encode returns the payloads of a record, that of its first item first.
func (c record) encode() (payloads []string) {
	inline := c.body[:min(len(c.body), inlineMax)]
	rest := c.body[len(inline):]
	parts := (len(rest) + partMax - 1) / partMax
	var small [512]byte // most records fit, and are copied once
	b := small[:0]
	b = cbor.AppendUint(cbor.AppendArray(b, 9), uint(format))
	b = cbor.AppendInt(cbor.AppendUint(cbor.AppendBytes(b, c.name), c.version), c.at.UnixMicro())
	b = cbor.AppendArray(b, len(c.tags))
	for _, tag := range c.tags {
		b = cbor.AppendBytes(b, tag)
	}
	b = cbor.AppendUint(cbor.AppendBool(b, c.deleted), uint(parts))
	payloads = append(payloads, string(cbor.AppendBytes(c.by.append(b), inline)))
	for len(rest) > 0 {
		n := min(len(rest), partMax)
		payloads = append(payloads, string(rest[:n]))
		rest = rest[n:]
	}
	return payloads
}

// decode reads the record of an item, with its other parts. What it returns is the caller's.
func decode(r crdt.Reader, it *crdt.Item) (c record, err error) {
	in := opened(it.Payload, 9)
	c.name, c.version = string(in.Bytes(persistence.NameMax)), in.Uint32()
	c.at = time.UnixMicro(in.Int()).UTC()
	for range in.Array(persistence.TagsMax) {
		c.tags = append(c.tags, string(in.Bytes(persistence.NameMax)))
	}
	c.deleted = in.Bool()
	parts := int(in.UintMax(persistence.BodyMax/partMax + 1))
	c.by = readWritten(in)
	c.body = append([]byte{}, in.Bytes(inlineMax)...)
	if err := in.End(); err != nil {
		return record{}, damaged(it, err)
	}
	for i := range parts {
		more := partOf(r, it, i+1)
		if more == nil {
			return record{}, damaged(it, fmt.Errorf("part %d of %d is missing", i+1, parts))
		}
		c.body = append(c.body, more.Payload...)
	}
	return c, nil
}

// partOf returns a part of what begins with an item: the events of one record follow each other.
func partOf(r crdt.Reader, it *crdt.Item, i int) *crdt.Item {
	want := crdt.Dot{Origin: it.Dot.Origin, Seq: it.Dot.Seq + uint64(i)}
	for _, at := range r.At(part(it.Path, i)) {
		if at.Dot == want {
			return at
		}
	}
	return nil
}

// opened begins to read an array of n elements, of which the format is the first.
func opened(payload string, n int) *cbor.Reader {
	in := cbor.NewReader([]byte(payload))
	in.Tuple(n)
	if f := in.Uint(); in.Err() == nil && f != format {
		in.Fail("format %d, and this program knows %d", f, format)
	}
	return in
}

func damaged(it *crdt.Item, err error) error {
	kind := persistence.ErrDamaged
	if in := cbor.NewReader([]byte(it.Payload)); in.Array(9) > 0 && in.Uint() > format && in.Err() == nil {
		kind = persistence.ErrVersion
	}
	return fmt.Errorf("%w: key %q, item %v at %q: %w", kind, it.Key, it.Dot, it.Path, err)
}

// mark says up to which number something was deleted. written is that of the last write of the
// history, if its first event is among what was deleted.
type mark struct {
	number uint64
	by     written
}

func (m mark) encode() string {
	return string(m.by.append(cbor.AppendUint(cbor.AppendUint(cbor.AppendArray(nil, 3), uint(format)), m.number)))
}

func decodeMark(it *crdt.Item) (m mark, err error) {
	in := opened(it.Payload, 3)
	m = mark{number: in.Uint(), by: readWritten(in)}
	if err := in.End(); err != nil {
		return mark{}, damaged(it, err)
	}
	return m, nil
}
