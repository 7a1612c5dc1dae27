package replicator

import (
	"bytes"
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/head"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// A message is a version byte, then one core-deterministic CBOR array whose first element is its
// kind and whose second is the epoch:
//
//	status   [1, epoch, ask, hash, digest, acked, settled, hash, digest, acked, settled]   volatile, then durable
//	push     [2, epoch, space, fill, more, [group…]]
//	ack      [3, epoch, space, echo, content, acked]
//	clock    [4, epoch, space, ask, content, acked|null]
//	fetch    [5, epoch, space, dots]
//	behind   [6, epoch, space]
//	ask      [7, epoch, space, id, hash]
//	answer   [8, epoch, space, id, extra|null]
//	report   [9, epoch, space, ask, serves, whole, disk, hash, acked|null, settled, [past…]]
//	past     [epoch, [voter…], [disk…]]
//	10 to 17 are those of a repair, in wire_repair.go
//	part     [18, epoch, flow, index, total, bytes]
//	partack  [19, epoch, flow, next]
//	compare  [20, epoch, space, id, hash, more, hold, [key…]]
//	compared [21, epoch, space, id, known, extra|null, lacks|null, [index…]]
//	unstored [22, epoch, upTo, acked, why]
//
// Hashes and digests are 16 bytes. Groups, clocks and items are as the package crdt has them.
const wireVersion = 1

const (
	kindStatus = 1 + iota
	kindPush
	kindAck
	kindClock
	kindFetch
	kindLogTruncated
	kindAsk
	kindAnswer
	kindReport
	kindPull
	kindHead
	kindMoreCells
	kindCells
	kindFetchItems
	kindItems
	kindDone
	kindRefuse
	kindPart
	kindPartAck
	kindCompare
	kindCompared
	kindUnstored
)

// fields is how many elements the array of each kind has, by kind.
var fields = [...]int{
	kindStatus: 11, kindPush: 6, kindAck: 6, kindClock: 6, kindFetch: 4, kindLogTruncated: 3, kindAsk: 5, kindAnswer: 5, kindReport: 11,
	kindPull: 5, kindHead: 7, kindMoreCells: 7, kindCells: 7, kindFetchItems: 8, kindItems: 9, kindDone: 4, kindRefuse: 4, kindPart: 6, kindPartAck: 4,
	kindCompare: 8, kindCompared: 8,
	kindUnstored: 5,
}

// pastsMax bounds the views of one report.
const pastsMax = 1 << 12

// AppendMessage appends the encoding of a message.
func AppendMessage(dst []byte, m Message) []byte {
	e := encoder{append(dst, wireVersion)}
	begin := func(kind int) {
		e.head(head.Array, uint64(fields[kind]))
		e.uints(uint64(kind), m.epochOf())
	}
	switch m := m.(type) {
	case *Status:
		begin(kindStatus)
		e.bools(m.Ask)
		for i := range m.Spaces {
			s := &m.Spaces[i]
			e.bytes(s.Hash[:])
			e.digest(s.Digest)
			e.bools(s.Acked)
			e.uints(s.Settled)
		}
	case *Push:
		begin(kindPush)
		e.push(m)
	case *Ack:
		begin(kindAck)
		e.uints(uint64(m.Space), m.Echo, m.Content, m.Acked)
	case *Clock:
		begin(kindClock)
		e.uints(uint64(m.Space))
		e.bools(m.Ask)
		e.clock(m.Content)
		e.clock(m.Acked)
	case *Fetch:
		begin(kindFetch)
		e.uints(uint64(m.Space))
		e.clock(m.Dots)
	case *LogTruncated:
		begin(kindLogTruncated)
		e.uints(uint64(m.Space))
	case *Ask:
		begin(kindAsk)
		e.uints(uint64(m.Space), m.ID)
		e.bytes(m.Hash[:])
	case *Answer:
		begin(kindAnswer)
		e.uints(uint64(m.Space), m.ID)
		e.clock(m.Extra)
	case *Compare:
		begin(kindCompare)
		e.compare(m)
	case *Compared:
		begin(kindCompared)
		e.compared(m)
	case *Unstored:
		begin(kindUnstored)
		e.uints(m.UpTo, m.Acked)
		e.bytes([]byte(m.Why))
	case *Report:
		begin(kindReport)
		e.report(m)
	case *Part:
		begin(kindPart)
		e.uints(m.Flow, uint64(m.Index), uint64(m.Total))
		e.bytes(m.Data)
	case *PartAck:
		begin(kindPartAck)
		e.uints(m.Flow, uint64(m.Next))
	default:
		e.repair(m, begin)
	}
	return e.b
}

func (e *encoder) push(m *Push) {
	e.uints(uint64(m.Space))
	e.bools(m.Fill, m.More)
	e.head(head.Array, uint64(len(m.Groups)))
	for i, g := range m.Groups {
		if i < len(m.enc) {
			e.b = append(e.b, m.enc[i]...)
		} else {
			e.b = crdt.AppendGroup(e.b, g)
		}
	}
}

func (e *encoder) compare(m *Compare) {
	e.uints(uint64(m.Space), m.ID)
	e.bytes(m.Hash[:])
	e.clock(m.More)
	e.uints(uint64(m.Hold))
	e.head(head.Array, uint64(len(m.Keys)))
	for _, k := range m.Keys {
		e.bytes([]byte(k))
	}
}

func (e *encoder) compared(m *Compared) {
	e.uints(uint64(m.Space), m.ID)
	e.bools(m.Known)
	e.clock(m.Extra)
	e.clock(m.Lacks)
	e.head(head.Array, uint64(len(m.Differ)))
	for _, i := range m.Differ {
		e.uints(uint64(i))
	}
}

func (e *encoder) report(m *Report) {
	e.uints(uint64(m.Space))
	e.bools(m.Ask, m.Serves, m.Whole)
	e.uints(m.Disk)
	e.bytes(m.Hash[:])
	e.clock(m.Acked)
	e.uints(m.Settled)
	e.head(head.Array, uint64(len(m.Known)))
	for _, p := range m.Known {
		e.head(head.Array, 3)
		e.uints(p.Epoch)
		e.head(head.Array, uint64(len(p.Voters)))
		for _, v := range p.Voters {
			e.uints(uint64(v))
		}
		e.head(head.Array, uint64(len(p.Disks)))
		e.uints(p.Disks...)
	}
}

// DecodeMessage decodes what AppendMessage made. It fails with ErrVersion or ErrMalformed on
// anything else, and never costs more than in proportion to the length of b. The message shares
// nothing with b, which the transport uses again.
func DecodeMessage(b []byte) (Message, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty", ErrMalformed)
	}
	if b[0] != wireVersion {
		return nil, fmt.Errorf("%w: %d, this program speaks %d", ErrVersion, b[0], wireVersion)
	}
	d := decoder{b: b[1:]}
	n := d.array()
	kind, epoch := d.uint(), d.uint()
	if d.err == nil && (kind == 0 || kind >= uint64(len(fields)) || n != fields[kind]) {
		d.fail("message of kind %d with %d elements", kind, n)
	}
	var m Message
	if d.err == nil {
		m = d.message(int(kind), epoch)
	}
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes too many", len(d.b))
	}
	if d.err != nil {
		return nil, d.err
	}
	return m, nil
}

func (d *decoder) message(kind int, epoch uint64) Message {
	switch kind {
	case kindStatus:
		m := &Status{Epoch: epoch, Ask: d.bool()}
		for i := range m.Spaces {
			m.Spaces[i] = Summary{Hash: d.fixed(), Digest: d.digest(), Acked: d.bool(), Settled: d.uint()}
		}
		return m
	case kindPush:
		return d.push(epoch)
	case kindAck:
		return &Ack{Epoch: epoch, Space: d.space(), Echo: d.uint(), Content: d.uint(), Acked: d.uint()}
	case kindClock:
		return &Clock{Epoch: epoch, Space: d.space(), Ask: d.bool(), Content: d.clock(false), Acked: d.clock(true)}
	case kindFetch:
		return &Fetch{Epoch: epoch, Space: d.space(), Dots: d.clock(false)}
	case kindLogTruncated:
		return &LogTruncated{Epoch: epoch, Space: d.space()}
	case kindAsk:
		return &Ask{Epoch: epoch, Space: d.space(), ID: d.uint(), Hash: d.fixed()}
	case kindAnswer:
		return &Answer{Epoch: epoch, Space: d.space(), ID: d.uint(), Extra: d.clock(true)}
	case kindCompare:
		return d.compare(epoch)
	case kindCompared:
		return d.compared(epoch)
	case kindUnstored:
		return &Unstored{Epoch: epoch, UpTo: d.uint(), Acked: d.uint(), Why: string(d.bytes())}
	case kindReport:
		return d.report(epoch)
	case kindPart:
		return &Part{Epoch: epoch, Flow: d.uint(), Index: d.uint32(), Total: d.uint32(), Data: bytes.Clone(d.bytes())}
	case kindPartAck:
		return &PartAck{Epoch: epoch, Flow: d.uint(), Next: d.uint32()}
	}
	return d.repair(kind, epoch)
}

func (d *decoder) push(epoch uint64) *Push {
	m := &Push{Epoch: epoch, Space: d.space(), Fill: d.bool(), More: d.bool()}
	n := d.array()
	if d.err != nil {
		return m
	}
	groups, rest, err := crdt.CutGroups(d.b, n)
	if err != nil {
		d.fail("%v", err)
		return m
	}
	m.Groups, d.b = groups, rest
	return m
}

func (d *decoder) compare(epoch uint64) *Compare {
	m := &Compare{Epoch: epoch, Space: d.space(), ID: d.uint(), Hash: d.fixed(), More: d.clock(false), Hold: d.uint32()}
	for range d.array() {
		if m.Keys = append(m.Keys, string(d.bytes())); d.err != nil {
			return m
		}
	}
	return m
}

func (d *decoder) compared(epoch uint64) *Compared {
	m := &Compared{Epoch: epoch, Space: d.space(), ID: d.uint(), Known: d.bool(), Extra: d.clock(true), Lacks: d.clock(true)}
	for range d.array() {
		if m.Differ = append(m.Differ, d.uint32()); d.err != nil {
			return m
		}
	}
	return m
}

func (d *decoder) report(epoch uint64) *Report {
	m := &Report{
		Epoch: epoch, Space: d.space(), Ask: d.bool(), Serves: d.bool(), Whole: d.bool(), Disk: d.uint(), Hash: d.fixed(), Acked: d.clock(true),
		Settled: d.uint(),
	}
	n := d.array()
	if n > pastsMax {
		d.fail("%d views", n)
	}
	for range n {
		if d.err != nil {
			return m
		}
		m.Known = append(m.Known, d.past())
	}
	return m
}

func (d *decoder) past() quorum.PastView {
	if d.array() != 3 {
		d.fail("no view")
	}
	p := quorum.PastView{Epoch: d.uint()}
	for range d.array() {
		if p.Voters = append(p.Voters, crdt.Origin(d.uint())); d.err != nil {
			return p
		}
	}
	for range d.array() {
		if p.Disks = append(p.Disks, d.uint()); d.err != nil {
			return p
		}
	}
	for i := 1; i < max(len(p.Voters), len(p.Disks)); i++ {
		if i < len(p.Voters) && p.Voters[i-1] >= p.Voters[i] || i < len(p.Disks) && p.Disks[i-1] >= p.Disks[i] {
			d.fail("view out of order")
		}
	}
	return p
}
