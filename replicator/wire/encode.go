package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/dots"
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
//	10 to 17 are those of a repair, in encode_repair.go
//	part     [18, epoch, flow, index, total, bytes]
//	partack  [19, epoch, flow, next]
//	compare  [20, epoch, space, id, hash, more, hold, [key…]]
//	compared [21, epoch, space, id, known, extra|null, lacks|null, [index…]]
//	unstored [22, epoch, upTo, acked, why]
//
// Hashes and digests are 16 bytes. Groups, clocks and items are as the package crdt has them.
const Version = 1

// Errors of Decode.
var (
	ErrMalformed = errors.New("replicator: malformed message") // bytes that no correct replica sends
	// the peer runs a program that speaks another protocol
	ErrVersion = errors.New("replicator: message of another version")
)

const (
	kindHoldings = 1 + iota
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
	kindHoldings: 11, kindPush: 7, kindAck: 8, kindClock: 6, kindFetch: 4, kindLogTruncated: 3, kindAsk: 5,
	kindAnswer: 5, kindReport: 11,
	kindPull: 5, kindHead: 7, kindMoreCells: 7, kindCells: 7, kindFetchItems: 8, kindItems: 9, kindDone: 4,
	kindRefuse: 4, kindPart: 6, kindPartAck: 4,
	kindCompare: 8, kindCompared: 8,
	kindUnstored: 5,
}

// pastsMax bounds the views of one report.
const pastsMax = 1 << 12

// Append appends the encoding of a message.
func Append(dst []byte, m Message) []byte {
	begin := func(kind int) []byte {
		b := cbor.AppendArray(append(dst, Version), fields[kind])
		return cbor.AppendUints(b, uint64(kind), m.epochOf())
	}
	switch m := m.(type) {
	case *Holdings:
		return appendHoldings(begin(kindHoldings), m)
	case *Push:
		return appendPush(begin(kindPush), m)
	case *Ack:
		b := cbor.AppendUints(begin(kindAck), uint64(m.Space), m.Echo, m.Content, m.Acked, m.Answers)
		return appendClock(b, m.Extra)
	case *Clock:
		b := cbor.AppendBool(cbor.AppendUint(begin(kindClock), m.Space), m.Ask)
		return appendClock(appendClock(b, m.Content), m.Acked)
	case *Fetch:
		return appendClock(cbor.AppendUint(begin(kindFetch), m.Space), m.Dots)
	case *LogTruncated:
		return cbor.AppendUint(begin(kindLogTruncated), m.Space)
	case *Ask:
		return appendHash(cbor.AppendUints(begin(kindAsk), uint64(m.Space), m.ID), m.Hash)
	case *Answer:
		return appendClock(cbor.AppendUints(begin(kindAnswer), uint64(m.Space), m.ID), m.Extra)
	case *Compare:
		return appendCompare(begin(kindCompare), m)
	case *Compared:
		return appendCompared(begin(kindCompared), m)
	case *Unstored:
		return cbor.AppendBytes(cbor.AppendUints(begin(kindUnstored), m.UpTo, m.Acked), m.Why)
	case *Report:
		return appendReport(begin(kindReport), m)
	case *Part:
		return cbor.AppendBytes(cbor.AppendUints(begin(kindPart), m.Flow, uint64(m.Index), uint64(m.Total)), m.Data)
	case *PartAck:
		return cbor.AppendUints(begin(kindPartAck), m.Flow, uint64(m.Next))
	}
	return appendRepair(m, begin)
}

func appendHoldings(dst []byte, m *Holdings) []byte {
	dst = cbor.AppendBool(dst, m.Ask)
	for i := range m.Spaces {
		s := &m.Spaces[i]
		dst = appendDigest(appendHash(dst, s.Hash), s.Digest)
		dst = cbor.AppendUint(cbor.AppendBool(dst, s.Acked), s.Settled)
	}
	return dst
}

func appendPush(dst []byte, m *Push) []byte {
	dst = cbor.AppendBools(cbor.AppendUint(dst, m.Space), m.Fill, m.More)
	dst = cbor.AppendArray(cbor.AppendUint(dst, m.Asks), len(m.Groups))
	for i, g := range m.Groups {
		if i < len(m.Encoded) {
			dst = append(dst, m.Encoded[i]...)
		} else {
			dst = crdt.AppendGroup(dst, g)
		}
	}
	return dst
}

func appendCompare(dst []byte, m *Compare) []byte {
	dst = appendHash(cbor.AppendUints(dst, uint64(m.Space), m.ID), m.Hash)
	dst = cbor.AppendUint(appendClock(dst, m.More), m.Hold)
	dst = cbor.AppendArray(dst, len(m.Keys))
	for _, k := range m.Keys {
		dst = cbor.AppendBytes(dst, k)
	}
	return dst
}

func appendCompared(dst []byte, m *Compared) []byte {
	dst = cbor.AppendBool(cbor.AppendUints(dst, uint64(m.Space), m.ID), m.Known)
	dst = appendClock(appendClock(dst, m.Extra), m.Lacks)
	dst = cbor.AppendArray(dst, len(m.Differ))
	for _, i := range m.Differ {
		dst = cbor.AppendUint(dst, i)
	}
	return dst
}

func appendReport(dst []byte, m *Report) []byte {
	dst = cbor.AppendBools(cbor.AppendUint(dst, m.Space), m.Ask, m.Serves, m.Whole)
	dst = appendHash(cbor.AppendUint(dst, m.Disk), m.Hash)
	dst = cbor.AppendUint(appendClock(dst, m.Acked), m.Settled)
	dst = cbor.AppendArray(dst, len(m.Known))
	for _, p := range m.Known {
		dst = cbor.AppendUint(cbor.AppendArray(dst, 3), p.Epoch)
		dst = cbor.AppendArray(dst, len(p.Voters))
		for _, v := range p.Voters {
			dst = cbor.AppendUint(dst, v)
		}
		dst = cbor.AppendUints(cbor.AppendArray(dst, len(p.Disks)), p.Disks...)
	}
	return dst
}

// Decode decodes what Append made. It fails with ErrVersion or ErrMalformed on
// anything else, and never costs more than in proportion to the length of b. The message shares
// nothing with b, which the transport uses again.
func Decode(b []byte) (Message, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty", ErrMalformed)
	}
	if b[0] != Version {
		return nil, fmt.Errorf("%w: %d, this program speaks %d", ErrVersion, b[0], Version)
	}
	r := cbor.NewReader(b[1:])
	n := r.Array(cbor.Any)
	kind, epoch := r.Uint(), r.Uint()
	if kind == 0 || kind >= uint64(len(fields)) || n != fields[kind] {
		r.Fail("message of kind %d with %d elements", kind, n)
	}
	var m Message
	if r.Err() == nil {
		m = readMessage(r, int(kind), epoch)
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return m, nil
}

// DecodeWhole decodes a message that has come in parts, whose pieces follow each other. It is no part
// itself.
func DecodeWhole(pieces [][]byte) (Message, error) {
	m, err := Decode(slices.Concat(pieces...))
	if _, is := m.(*Part); is {
		return nil, fmt.Errorf("%w: a part of parts", ErrMalformed)
	}
	return m, err
}

func readMessage(r *cbor.Reader, kind int, epoch uint64) Message {
	switch kind {
	case kindHoldings:
		m := &Holdings{Epoch: epoch, Ask: r.Bool()}
		for i := range m.Spaces {
			m.Spaces[i] = Summary{Hash: readHash(r), Digest: readDigest(r), Acked: r.Bool(), Settled: r.Uint()}
		}
		return m
	case kindPush:
		return &Push{
			Epoch: epoch, Space: readSpace(r), Fill: r.Bool(), More: r.Bool(), Asks: r.Uint(),
			Groups: crdt.ReadGroups(r, r.Array(cbor.Any)),
		}
	case kindAck:
		return &Ack{
			Epoch: epoch, Space: readSpace(r), Echo: r.Uint(), Content: r.Uint(), Acked: r.Uint(),
			Answers: r.Uint(), Extra: readClockOrNull(r),
		}
	case kindClock:
		return &Clock{
			Epoch: epoch, Space: readSpace(r), Ask: r.Bool(), Content: dots.Read(r), Acked: readClockOrNull(r),
		}
	case kindFetch:
		return &Fetch{Epoch: epoch, Space: readSpace(r), Dots: dots.Read(r)}
	case kindLogTruncated:
		return &LogTruncated{Epoch: epoch, Space: readSpace(r)}
	case kindAsk:
		return &Ask{Epoch: epoch, Space: readSpace(r), ID: r.Uint(), Hash: readHash(r)}
	case kindAnswer:
		return &Answer{Epoch: epoch, Space: readSpace(r), ID: r.Uint(), Extra: readClockOrNull(r)}
	case kindCompare:
		return readCompare(r, epoch)
	case kindCompared:
		return readCompared(r, epoch)
	case kindUnstored:
		return &Unstored{Epoch: epoch, UpTo: r.Uint(), Acked: r.Uint(), Why: string(r.Bytes(cbor.Any))}
	case kindReport:
		return readReport(r, epoch)
	case kindPart:
		return &Part{
			Epoch: epoch, Flow: r.Uint(), Index: r.Uint32(), Total: r.Uint32(), Data: bytes.Clone(r.Bytes(cbor.Any)),
		}
	case kindPartAck:
		return &PartAck{Epoch: epoch, Flow: r.Uint(), Next: r.Uint32()}
	}
	return readRepair(r, kind, epoch)
}

func readCompare(r *cbor.Reader, epoch uint64) *Compare {
	m := &Compare{
		Epoch: epoch, Space: readSpace(r), ID: r.Uint(), Hash: readHash(r), More: dots.Read(r), Hold: r.Uint32(),
	}
	for range r.Array(cbor.Any) {
		if m.Keys = append(m.Keys, string(r.Bytes(cbor.Any))); r.Err() != nil {
			return m
		}
	}
	return m
}

func readCompared(r *cbor.Reader, epoch uint64) *Compared {
	m := &Compared{
		Epoch: epoch, Space: readSpace(r), ID: r.Uint(), Known: r.Bool(), Extra: readClockOrNull(r),
		Lacks: readClockOrNull(r),
	}
	for range r.Array(cbor.Any) {
		if m.Differ = append(m.Differ, r.Uint32()); r.Err() != nil {
			return m
		}
	}
	return m
}

func readReport(r *cbor.Reader, epoch uint64) *Report {
	m := &Report{
		Epoch: epoch, Space: readSpace(r), Ask: r.Bool(), Serves: r.Bool(), Whole: r.Bool(),
		Disk: r.Uint(), Hash: readHash(r),
		Acked: readClockOrNull(r), Settled: r.Uint(),
	}
	for range r.Array(pastsMax) {
		if m.Known = append(m.Known, readPast(r)); r.Err() != nil {
			return m
		}
	}
	return m
}

func readPast(r *cbor.Reader) quorum.PastView {
	r.Tuple(3)
	p := quorum.PastView{Epoch: r.Uint()}
	for range r.Array(cbor.Any) {
		if p.Voters = append(p.Voters, crdt.Origin(r.Uint())); r.Err() != nil {
			return p
		}
	}
	for range r.Array(cbor.Any) {
		if p.Disks = append(p.Disks, r.Uint()); r.Err() != nil {
			return p
		}
	}
	for i := 1; i < max(len(p.Voters), len(p.Disks)); i++ {
		if i < len(p.Voters) && p.Voters[i-1] >= p.Voters[i] || i < len(p.Disks) && p.Disks[i-1] >= p.Disks[i] {
			r.Fail("view out of order")
		}
	}
	return p
}
