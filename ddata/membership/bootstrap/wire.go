package bootstrap

import (
	"math"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Probes, and the founding views to which nodes lock themselves, are what nodes without a view say most.
// They are encoded and read field by field, which takes a fraction of what reflection does. The bytes are
// those of cbor.Records. Bytes that are not in the form in which this build writes them, such as those of
// a build that adds keys, are left to cbor.Records.

const (
	probeKeys     = 13 // that are always there
	knownKeys     = 11
	settingFields = 2
	contactFields = 2
)

// ProbeBytes is how long a probe is, usually: what it is appended to should have room for that.
const ProbeBytes = 512

// Append appends the encoding of the probe.
func (p Probe) Append(dst []byte) []byte {
	dst = cbor.AppendMap(dst, probeKeys+count(p.Ended)+count(p.Clean != 0))
	dst = cbor.AppendText(key(dst, 1), p.Name)
	dst = cbor.AppendList(key(dst, 2), p.Settings, appendSetting)
	dst = view.AppendTexts(key(dst, 3), p.Durable)
	dst = view.AppendMember(key(dst, 4), p.Self)
	dst = cbor.AppendText(key(dst, 5), p.At)
	dst = cbor.AppendUint(key(dst, 6), p.Expect)
	dst = cbor.AppendBool(key(dst, 7), p.AnyDisks)
	dst = cbor.AppendUint(key(dst, 8), p.Heard)
	dst = cbor.AppendUint(key(dst, 9), p.First)
	dst = cbor.AppendList(key(dst, 10), p.Knows, appendKnown)
	dst = cbor.AppendList(key(dst, 11), p.Peers, appendContact)
	dst = view.AppendIDs(key(dst, 12), p.Choice)
	dst = cbor.AppendBool(key(dst, 13), p.Waits)
	if p.Ended {
		dst = cbor.AppendBool(key(dst, 14), true)
	}
	if p.Clean != 0 {
		dst = cbor.AppendUint(key(dst, 15), p.Clean)
	}
	return dst
}

// DecodeProbe decodes a probe. The probe shares no memory with b.
func DecodeProbe(b []byte) (p Probe, err error) {
	if p, ok := readProbe(b); ok {
		return p, nil
	}
	return p, cbor.Records.Decode(b, &p)
}

// readProbe reads a probe in the form in which Append writes it, and reports whether the bytes are one.
func readProbe(b []byte) (p Probe, ok bool) {
	m := readMap(cbor.NewReader(b), probeKeys, probeKeys+2)
	p.Name = m.at(1).Text(cbor.Any)
	p.Settings = cbor.ReadList(m.at(2), cbor.RecordElementsMax, readSetting)
	p.Durable = view.ReadTexts(m.at(3))
	p.Self = view.ReadMember(m.at(4))
	p.At = m.at(5).Text(cbor.Any)
	p.Expect = m.at(6).Uint32()
	p.AnyDisks = m.at(7).Bool()
	p.Heard = view.Epoch(m.at(8).Uint())
	p.First = view.Epoch(m.at(9).Uint())
	p.Knows = cbor.ReadList(m.at(10), cbor.RecordElementsMax, readKnown)
	p.Peers = cbor.ReadList(m.at(11), cbor.RecordElementsMax, readContact)
	p.Choice = view.ReadIDs[view.UID](m.at(12), cbor.RecordElementsMax)
	p.Waits = m.at(13).Bool()
	if m.has(14) {
		p.Ended = m.r.Bool()
	}
	if m.has(15) {
		p.Clean = view.UID(m.r.Uint())
	}
	m.end()
	return p, m.r.End() == nil
}

func appendKnown(dst []byte, k Known) []byte {
	dst = cbor.AppendMap(dst, knownKeys+count(k.Complete)+count(k.Ages != nil))
	dst = cbor.AppendUint(key(dst, 1), k.Cluster)
	dst = cbor.AppendUint(key(dst, 2), k.Era)
	dst = cbor.AppendUint(key(dst, 3), k.Epoch)
	dst = cbor.AppendBool(key(dst, 4), k.Pending)
	dst = cbor.AppendBool(key(dst, 5), k.Founding)
	dst = cbor.AppendList(key(dst, 6), k.Voters, view.AppendMember)
	dst = cbor.AppendUint(key(dst, 7), k.Settled)
	dst = cbor.AppendList(key(dst, 8), k.Sets, view.AppendSet)
	dst = view.AppendTexts(key(dst, 9), k.Durable)
	dst = cbor.AppendUint(key(dst, 10), k.Moves)
	dst = cbor.AppendUint(key(dst, 11), k.Format)
	if k.Complete {
		dst = cbor.AppendBool(key(dst, 12), true)
	}
	if k.Ages != nil {
		dst = k.Ages.Append(key(dst, 13))
	}
	return dst
}

func readKnown(r *cbor.Reader) (k Known) {
	m := readMap(r, knownKeys, knownKeys+2)
	k.Cluster = view.ClusterID(m.at(1).Uint())
	k.Era = view.Era(m.at(2).Uint())
	k.Epoch = view.Epoch(m.at(3).Uint())
	k.Pending = m.at(4).Bool()
	k.Founding = m.at(5).Bool()
	k.Voters = view.ReadMembers(m.at(6))
	k.Settled = view.Epoch(m.at(7).Uint())
	k.Sets = view.ReadSets(m.at(8))
	k.Durable = view.ReadTexts(m.at(9))
	k.Moves = uint16(m.at(10).UintMax(math.MaxUint16))
	k.Format = format.Level(m.at(11).UintMax(math.MaxUint16))
	if m.has(12) {
		k.Complete = r.Bool()
	}
	if m.has(13) {
		k.Ages = view.ReadAges(r)
	}
	m.end()
	return k
}

// Append appends the encoding of the message.
func (l Locked) Append(dst []byte) []byte {
	return view.AppendAlone(dst, l.View)
}

// DecodeLocked decodes the message. Its view shares no memory with b.
func DecodeLocked(b []byte) (l Locked, err error) {
	if v, ok := view.ReadAlone(b); ok {
		return Locked{View: v}, nil
	}
	return l, cbor.Records.Decode(b, &l)
}

func appendSetting(dst []byte, s Setting) []byte {
	return cbor.AppendText(cbor.AppendText(cbor.AppendArray(dst, settingFields), s.Name), s.Value)
}

func readSetting(r *cbor.Reader) Setting {
	r.Tuple(settingFields)
	return Setting{Name: r.Text(cbor.Any), Value: r.Text(cbor.Any)}
}

func appendContact(dst []byte, c Contact) []byte {
	return cbor.AppendText(cbor.AppendUint(cbor.AppendArray(dst, contactFields), c.UID), c.Addr)
}

func readContact(r *cbor.Reader) Contact {
	r.Tuple(contactFields)
	return Contact{UID: view.UID(r.Uint()), Addr: r.Text(cbor.Any)}
}

// key appends the key of a field.
func key(dst []byte, k byte) []byte { return cbor.AppendUint(dst, k) }

// count is how many keys a field takes that may be left out.
func count(there bool) int {
	if there {
		return 1
	}
	return 0
}

// fields reads a map whose keys are numbers in order.
type fields struct {
	r    *cbor.Reader
	left int // keys that were not read yet
}

// readMap reads the head of a map of least to most keys.
func readMap(r *cbor.Reader, least, most int) *fields {
	for n := least; n <= most; n++ {
		if r.Skip(cbor.AppendMap(nil, n)) {
			return &fields{r: r, left: n}
		}
	}
	r.Fail("no map of %d to %d keys", least, most)
	return &fields{r: r}
}

// has reads a key if it is next, and reports whether it was.
func (m *fields) has(k byte) bool {
	if !m.r.Skip([]byte{k}) {
		return false
	}
	m.left--
	return true
}

// at reads a key that must be next, and returns the reader of its value.
func (m *fields) at(k byte) *cbor.Reader {
	if !m.has(k) {
		m.r.Fail("no key %d", k)
	}
	return m.r
}

// end verifies that all keys were read.
func (m *fields) end() {
	if m.left != 0 {
		m.r.Fail("%d keys that are unknown", m.left)
	}
}
