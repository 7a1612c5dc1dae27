package message

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// The wire format of a message:
//
//	byte 0   version of this format (1)
//	byte 1   kind
//	rest     the message as a CBOR array of its fields in order (core deterministic, definite lengths, no tags)
//
// A view's hash is that of its CBOR array.

const (
	wireVersion = 1
	bytesMax    = 4 << 20 // of an encoded message
)

// DownsMax is how many operator's verdicts travel in a heartbeat.
const DownsMax = 256

// ErrMalformed is the error of bytes that are no message of this version.
var ErrMalformed = errors.New("membership: malformed message")

type kind uint8

const (
	kindProbe kind = iota + 1
	kindJoinReply
	kindRefuse
	kindLock
	kindHeartbeat
	kindGrant
	kindFetch
	kindCommit
	kindPrepare
	kindPrepared
	kindAccept
	kindAccepted
	kindRejected
	kindLearned
	kindCrashed
	kindAgreed
	kindChange
)

// A view of the most members is one that cbor.Records decodes.
const _ = uint(cbor.RecordElementsMax - view.MembersMax)

// Append appends the encoding of a message.
func Append(dst []byte, m Message) []byte {
	room := smallBytes
	if _, is := m.(bootstrap.Probe); is {
		room = 2 + bootstrap.ProbeBytes
	}
	dst = append(slices.Grow(dst, room), wireVersion, byte(kindOf(m)))
	switch m := m.(type) {
	case Heartbeat:
		return m.append(dst)
	case Grant:
		return m.append(dst)
	case bootstrap.Probe:
		return m.Append(dst)
	case bootstrap.Locked:
		return m.Append(dst)
	case Commit:
		return view.AppendAlone(dst, m.View)
	}
	return cbor.Records.MustAppend(dst, m)
}

// Decode decodes a message. It never panics; what it returns shares nothing with b and is
// within limits.
func Decode(b []byte) (Message, error) {
	if len(b) < 3 || len(b) > bytesMax {
		return nil, fmt.Errorf("%w: %d bytes", ErrMalformed, len(b))
	}
	if b[0] != wireVersion {
		return nil, fmt.Errorf("%w: version %d, this is %d", ErrMalformed, b[0], wireVersion)
	}
	m, err := decodeKind(kind(b[1]), b[2:])
	if err != nil {
		return nil, fmt.Errorf("%w: kind %d: %w", ErrMalformed, b[1], err)
	}
	return m, nil
}

// kindOf panics for what is no message of this package or of package bootstrap.
func kindOf(m Message) kind {
	switch m.(type) {
	case bootstrap.Probe:
		return kindProbe
	case bootstrap.JoinReply:
		return kindJoinReply
	case bootstrap.Refuse:
		return kindRefuse
	case bootstrap.Locked:
		return kindLock
	case Heartbeat:
		return kindHeartbeat
	case Grant:
		return kindGrant
	case Fetch:
		return kindFetch
	case Commit:
		return kindCommit
	case Prepare:
		return kindPrepare
	case Prepared:
		return kindPrepared
	case Accept:
		return kindAccept
	case Accepted:
		return kindAccepted
	case Rejected:
		return kindRejected
	case Learned:
		return kindLearned
	case Crashed:
		return kindCrashed
	case Agreed:
		return kindAgreed
	case Change:
		return kindChange
	}
	panic(fmt.Sprintf("membership: %T is no message", m))
}

func decodeKind(k kind, b []byte) (Message, error) {
	switch k {
	case kindProbe:
		p, err := bootstrap.DecodeProbe(b)
		return checked(p, err)
	case kindJoinReply:
		return decodeAs[bootstrap.JoinReply](b)
	case kindRefuse:
		return decodeAs[bootstrap.Refuse](b)
	case kindLock:
		l, err := bootstrap.DecodeLocked(b)
		return checked(l, err)
	case kindHeartbeat:
		return decodeHeartbeat(b)
	case kindGrant:
		return decodeGrant(b)
	case kindFetch:
		return decodeAs[Fetch](b)
	case kindCommit:
		if v, ok := view.ReadAlone(b); ok {
			return checked(Commit{View: v}, nil)
		}
		return decodeAs[Commit](b)
	case kindPrepare:
		return decodeAs[Prepare](b)
	case kindPrepared:
		return decodeAs[Prepared](b)
	case kindAccept:
		return decodeAs[Accept](b)
	case kindAccepted:
		return decodeAs[Accepted](b)
	case kindRejected:
		return decodeAs[Rejected](b)
	case kindLearned:
		return decodeAs[Learned](b)
	case kindCrashed:
		return decodeAs[Crashed](b)
	case kindAgreed:
		return decodeAs[Agreed](b)
	case kindChange:
		return decodeAs[Change](b)
	}
	return nil, errors.New("unknown kind")
}

func decodeAs[M Message](b []byte) (Message, error) {
	var m M
	err := cbor.Records.Decode(b, &m)
	return checked(m, err)
}

// checked returns a message that was decoded, unless that or the message itself is wrong.
func checked(m Message, err error) (Message, error) {
	if err != nil {
		return nil, err
	}
	if err := checkMessage(m); err != nil {
		return nil, err
	}
	return m, nil
}

// checkMessage holds a decoded message to the invariants of its types, so that no handler has to.
func checkMessage(m Message) error {
	switch m := m.(type) {
	case bootstrap.Probe:
		return checkProbe(m)
	case bootstrap.JoinReply:
		return checkContacts(m.Contacts)
	case bootstrap.Refuse:
		if len(m.Text) > bootstrap.ReasonMax || len(m.At) > view.AddrMax {
			return errors.New("refusal above limits")
		}
	case bootstrap.Locked:
		return m.View.Check()
	case Commit:
		return m.View.Check()
	case Change:
		return m.Check()
	case Heartbeat:
		if m.Flags&^report.All != 0 {
			return errors.New("unknown flags")
		}
		return errors.Join(view.CheckSorted(m.Downs, DownsMax), view.CheckServices(m.Offers))
	case Grant:
		if m.Arbiter && !m.Granted {
			return errors.New("the arbiter grants alone")
		}
	case Crashed:
		return view.CheckSorted(m.Members, view.MembersMax)
	case Prepare:
		return view.CheckSorted(m.Drops, view.MembersMax)
	case Prepared:
		if m.Accepted != nil {
			return checkProposal(m.Accepted)
		}
	case Accept:
		return checkProposal(m.Proposal)
	}
	return nil
}

func checkProbe(p bootstrap.Probe) error {
	if p.Self.Status != view.Joining || p.Self.UpNumber != 0 {
		return errors.New("probe of a member")
	}
	if len(p.Name) > view.NameMax || len(p.At) > view.AddrMax || len(p.Knows) > bootstrap.KnownMax ||
		len(p.Choice) > bootstrap.ContactsMax {
		return errors.New("probe above limits")
	}
	for _, k := range p.Knows {
		if err := errors.Join(checkVoters(k.Voters), view.CheckSets(k.Sets, view.MembersMax),
			view.CheckPatterns(k.Durable), k.Ages.Check()); err != nil {
			return err
		}
	}
	return errors.Join(bootstrap.CheckSettings(p.Settings), view.CheckPatterns(p.Durable), p.Self.Check(),
		checkContacts(p.Peers), view.CheckSorted(p.Choice, bootstrap.ContactsMax))
}

// checkVoters holds what a disk remembers of a view's voters to their order.
func checkVoters(vs []view.Member) error {
	if len(vs) > view.MembersMax {
		return errors.New("too many voters")
	}
	for i, v := range vs {
		if err := v.Check(); err != nil {
			return err
		}
		if v.Disk == 0 || !v.Full() || i > 0 && vs[i-1].UpNumber >= v.UpNumber {
			return fmt.Errorf("voter %v: no disk, or out of order", v.UID)
		}
	}
	return nil
}

func checkContacts(cs []bootstrap.Contact) error {
	if len(cs) > bootstrap.ContactsMax {
		return errors.New("too many contacts")
	}
	for _, c := range cs {
		if c.UID == 0 || c.Addr == "" || len(c.Addr) > view.AddrMax {
			return errors.New("bad contact")
		}
	}
	return nil
}

func checkProposal(p *paxos.Proposal) error {
	if p == nil {
		return errors.New("no proposal")
	}
	return errors.Join(p.View.Check(), view.CheckSorted(p.Stopped, view.MembersMax))
}
