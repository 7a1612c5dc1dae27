package view

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
)

// A view, and the parts of it that other messages have, are encoded and read field by field, which takes
// a fraction of what reflection does. The bytes are those of cbor.Records. Bytes that are not in the form
// in which this build writes them are left to cbor.Records: it says whether they are a view, and what is
// wrong if they are not.

const (
	fields           = 17 // of a view
	fieldsBefore     = 16 // of a view before format.Ages: all but the last
	memberFields     = 8
	rangeFields      = 2
	setFields        = 3
	lineFields       = 2
	serviceFields    = 2
	agesFields       = 5
	retirementFields = 3
	aloneFields      = 1

	plainBytes  = 96 // of a view without members, usually
	memberBytes = 64 // of a member, usually
)

// arrayOf is the head of a short array.
func arrayOf(fields int) byte { return 0x80 | byte(fields) }

// plain is a View that reflection encodes and decodes.
type plain View

// Append appends the encoding of the view, the array of its fields in order. Views below format.Ages
// lack the last field. The view's hash is that of these bytes.
func (v *View) Append(dst []byte) []byte {
	dst = slices.Grow(dst, plainBytes+memberBytes*len(v.Members))
	aged := v.Format >= format.Ages
	if aged {
		dst = cbor.AppendArray(dst, fields)
	} else {
		dst = cbor.AppendArray(dst, fieldsBefore)
	}
	dst = cbor.AppendUints(dst, uint64(v.Format), uint64(v.Cluster), uint64(v.Epoch))
	dst = cbor.AppendBytes(dst, v.Parent[:])
	dst = cbor.AppendList(dst, v.Members, AppendMember)
	dst = cbor.AppendUints(dst, uint64(v.LastUp), v.ConfigHash)
	dst = cbor.AppendBool(dst, v.Founded)
	dst = cbor.AppendList(dst, v.Unsettled, AppendSet)
	dst = cbor.AppendUint(dst, v.VotersMax)
	dst = cbor.AppendBool(dst, v.Closing)
	dst = cbor.AppendUint(dst, v.Era)
	dst = AppendTexts(AppendTexts(dst, v.Durable), v.Moving)
	dst = cbor.AppendUint(dst, v.Moves)
	dst = cbor.AppendList(dst, v.Lines, appendLine)
	if aged {
		dst = v.Ages.Append(dst)
	}
	return dst
}

// AppendAlone appends an array that has a view, nil for none, and nothing else: a message that says a view.
func AppendAlone(dst []byte, v *View) []byte {
	dst = cbor.AppendArray(dst, aloneFields)
	if v == nil {
		return cbor.AppendNull(dst)
	}
	return v.Append(dst)
}

// ReadAlone reads a view in the form in which AppendAlone writes it, as Read does.
func ReadAlone(b []byte) (*View, bool) {
	if len(b) == 0 || b[0] != arrayOf(aloneFields) {
		return nil, false
	}
	return Read(b[1:])
}

// MarshalCBOR implements cbor.Marshaler.
func (v *View) MarshalCBOR() ([]byte, error) { return v.Append(nil), nil }

// UnmarshalCBOR implements cbor.Unmarshaler.
func (v *View) UnmarshalCBOR(b []byte) error {
	if read, ok := Read(b); ok {
		*v = *read
		return nil
	}
	return (*plain)(v).decode(b)
}

// Read reads a view in the form in which Append writes it, and reports whether the bytes are one. The
// view shares no memory with b.
func Read(b []byte) (*View, bool) {
	r := cbor.NewReader(b)
	n := r.Array(fields)
	v := &View{Format: readLevel(r), Cluster: ClusterID(r.Uint()), Epoch: Epoch(r.Uint())}
	if copy(v.Parent[:], r.Bytes(len(v.Parent))) < len(v.Parent) {
		return nil, false
	}
	v.Members = ReadMembers(r)
	v.LastUp, v.ConfigHash, v.Founded = r.Uint32(), r.Uint(), r.Bool()
	v.Unsettled = ReadSets(r)
	v.VotersMax, v.Closing, v.Era = r.Uint32(), r.Bool(), Era(r.Uint())
	v.Durable, v.Moving, v.Moves = ReadTexts(r), ReadTexts(r), uint16(r.UintMax(math.MaxUint16))
	v.Lines = cbor.ReadList(r, cbor.RecordElementsMax, readLine)
	aged := v.Format >= format.Ages
	if aged {
		v.Ages = ReadAges(r)
	}
	return v, r.End() == nil && (n == fields) == aged && n >= fieldsBefore
}

// decode decodes by reflection.
func (p *plain) decode(b []byte) error {
	short := len(b) > 0 && b[0] == arrayOf(fieldsBefore)
	if short {
		b = cbor.AppendNull(bytes.Clone(b))
		b[0] = arrayOf(fieldsBefore + 1)
	}
	if err := cbor.Records.Decode(b, p); err != nil {
		return err
	}
	if short != (p.Format < format.Ages) {
		return fmt.Errorf("view: its form is not that of format level %d", p.Format)
	}
	return nil
}

// AppendMember appends a member.
func AppendMember(dst []byte, m Member) []byte {
	dst = cbor.AppendUint(cbor.AppendArray(dst, memberFields), m.UID)
	dst = cbor.AppendText(AppendTexts(cbor.AppendText(dst, m.Addr), m.Roles), m.AppVersion)
	dst = cbor.AppendUints(dst, uint64(m.Status), uint64(m.UpNumber), uint64(m.Disk))
	return cbor.AppendUints(cbor.AppendArray(dst, rangeFields), uint64(m.Formats.Min), uint64(m.Formats.Max))
}

// ReadMember reads a member.
func ReadMember(r *cbor.Reader) Member {
	r.Tuple(memberFields)
	m := Member{
		UID: UID(r.Uint()), Addr: r.Text(cbor.Any), Roles: ReadTexts(r), AppVersion: r.Text(cbor.Any),
		Status: Status(r.UintMax(math.MaxUint8)), UpNumber: r.Uint32(), Disk: DiskID(r.Uint()),
	}
	r.Tuple(rangeFields)
	m.Formats.Min, m.Formats.Max = readLevel(r), readLevel(r)
	return m
}

// ReadMembers reads a list of members.
func ReadMembers(r *cbor.Reader) []Member {
	return cbor.ReadList(r, cbor.RecordElementsMax, ReadMember)
}

func readLevel(r *cbor.Reader) format.Level { return format.Level(r.UintMax(math.MaxUint16)) }

// AppendSet appends a set of disks.
func AppendSet(dst []byte, s DiskSet) []byte {
	dst = cbor.AppendUint(cbor.AppendArray(dst, setFields), s.Epoch)
	return AppendIDs(cbor.AppendText(dst, s.Role), s.Disks)
}

// ReadSets reads a list of sets of disks.
func ReadSets(r *cbor.Reader) []DiskSet {
	return cbor.ReadList(r, cbor.RecordElementsMax, readSet)
}

func readSet(r *cbor.Reader) DiskSet {
	r.Tuple(setFields)
	return DiskSet{Epoch: Epoch(r.Uint()), Role: r.Text(cbor.Any), Disks: ReadIDs[DiskID](r, cbor.RecordElementsMax)}
}

func appendLine(dst []byte, l Line) []byte {
	return AppendIDs(AppendService(cbor.AppendArray(dst, lineFields), l.Service), l.Members)
}

func readLine(r *cbor.Reader) Line {
	r.Tuple(lineFields)
	return Line{Service: readService(r), Members: ReadIDs[UID](r, cbor.RecordElementsMax)}
}

// AppendService appends a service.
func AppendService(dst []byte, s Service) []byte {
	return cbor.AppendText(cbor.AppendText(cbor.AppendArray(dst, serviceFields), s.Role), s.Name)
}

// ReadServices reads a list of services.
func ReadServices(r *cbor.Reader) []Service {
	if r.Null() {
		return nil
	}
	all := make([]Service, r.Array(LinesMax)) // no ReadList, as in ReadIDs
	for i := range all {
		all[i] = readService(r)
	}
	return all
}

func readService(r *cbor.Reader) Service {
	r.Tuple(serviceFields)
	return Service{Role: r.Text(cbor.Any), Name: r.Text(cbor.Any)}
}

// Append appends the Ages, null for nil.
func (a *Ages) Append(dst []byte) []byte {
	if a == nil {
		return cbor.AppendNull(dst)
	}
	dst = a.Ended.append(cbor.AppendUint(cbor.AppendArray(dst, agesFields), a.Came))
	return cbor.AppendUint(a.Ending.append(cbor.AppendUint(dst, a.AgreedIn)), a.Began)
}

// ReadAges reads Ages, nil for null.
func ReadAges(r *cbor.Reader) *Ages {
	if r.Null() {
		return nil
	}
	r.Tuple(agesFields)
	return &Ages{
		Came: r.Uint32(), Ended: readRetirement(r), AgreedIn: Epoch(r.Uint()), Ending: readRetirement(r),
		Began: UID(r.Uint()),
	}
}

func (r Retirement) append(dst []byte) []byte {
	dst = cbor.AppendUint(cbor.AppendArray(dst, retirementFields), r.Below)
	return cbor.AppendUint(AppendIDs(dst, r.Spared), r.Moves)
}

func readRetirement(r *cbor.Reader) Retirement {
	r.Tuple(retirementFields)
	return Retirement{
		Below: UID(r.Uint()), Spared: ReadIDs[UID](r, cbor.RecordElementsMax), Moves: uint16(r.UintMax(math.MaxUint16)),
	}
}

// AppendIDs appends a list of ids.
func AppendIDs[T ~uint64](dst []byte, ids []T) []byte {
	return cbor.AppendList(dst, ids, cbor.AppendUint[T])
}

// ReadIDs reads a list of at most most ids.
func ReadIDs[T ~uint64](r *cbor.Reader, most int) []T {
	if r.Null() {
		return nil
	}
	ids := make([]T, r.Array(most)) // no ReadList: with it the reader of each heartbeat would be allocated
	for i := range ids {
		ids[i] = T(r.Uint())
	}
	return ids
}

// AppendTexts appends a list of texts.
func AppendTexts(dst []byte, all []string) []byte {
	return cbor.AppendList(dst, all, cbor.AppendText[string])
}

// ReadTexts reads a list of texts.
func ReadTexts(r *cbor.Reader) []string {
	return cbor.ReadList(r, cbor.RecordElementsMax, func(r *cbor.Reader) string { return r.Text(cbor.Any) })
}
