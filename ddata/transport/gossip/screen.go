package gossip

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// What memberlist's nodes say to each other, as far as ours do. It is read here before memberlist
// sees it, because memberlist makes room for what a message claims, not for what it holds; whatever
// ours never send is turned away.
//
//	packet    = label [12 crc(4)] (message | 7 count(1) { length(2) } { message })
//	sync      = label 6 {Nodes, UserStateLen, Join} node…      a stream begins so
//	answer    = 6 {Nodes, UserStateLen, Join} node… | 13 {Error}      and is answered so
//	label     = 244 length(1) name
//	message   = type(1) {…}      0 ping, 1 indirect ping, 2 ack, 3 suspect, 4 alive, 5 dead, 11 nack
//	node      = {Name, Addr, Port, Meta, Incarnation, State, Vsn}
//
// {…} is a map of MessagePack whose keys are strings and whose values are integers, booleans, nil
// and strings.
const (
	typePing     = 0
	typeAck      = 2
	typeAlive    = 4
	typeDead     = 5
	typeSync     = 6
	typeCompound = 7
	typeNack     = 11
	typeCRC      = 12
	typeError    = 13
	typeLabel    = 244
)

// Refusal says why something from another node was not given to memberlist.
type Refusal uint8

const (
	// RefusedForm counts what is cut off, or no message at all.
	RefusedForm Refusal = iota
	// RefusedLabel counts what is of another cluster.
	RefusedLabel
	// RefusedType counts messages of a type that no node of ours sends: compressed, encrypted, of
	// users.
	RefusedType
	// RefusedSize counts what is, or claims to be, larger than a node of ours makes it.
	RefusedSize
	// RefusedCrowd counts streams that had to go because too many were open, or too much was being
	// read from all of them.
	RefusedCrowd
	// Refusals is the number of reasons.
	Refusals
)

var refusalNames = [Refusals]string{"form", "label", "type", "size", "crowd"}

// String names the reason.
func (r Refusal) String() string {
	if r < Refusals {
		return refusalNames[r]
	}
	return "refusal" + strconv.Itoa(int(r))
}

// errScreened is why something was turned away.
type errScreened struct {
	why  Refusal
	text string
}

func (e errScreened) Error() string { return "gossip: refused: " + e.why.String() + ": " + e.text }

func screened(why Refusal, format string, args ...any) error {
	return errScreened{why, fmt.Sprintf(format, args...)}
}

// screenPacket reports whether a packet may be given to memberlist.
func screenPacket(b []byte, label string) error {
	if len(b) > packetTaken {
		return screened(RefusedSize, "packet of %d bytes", len(b))
	}
	s := &screen{b: b}
	if err := s.label(label); err != nil {
		return err
	}
	if len(s.b)-s.at >= 5 && s.b[s.at] == typeCRC {
		s.at += 5
	}
	if s.at < len(s.b) && s.b[s.at] == typeCompound {
		s.at++
		return s.compound()
	}
	if err := s.message(); err != nil {
		return err
	}
	return s.ended()
}

// label reads the cluster's name.
func (s *screen) label(want string) error {
	head, err := s.next(2)
	if err != nil {
		return err
	}
	if head[0] != typeLabel {
		return screened(RefusedLabel, "none")
	}
	name, err := s.next(int(head[1]))
	if err != nil {
		return err
	}
	if string(name) != want {
		return screened(RefusedLabel, "%q", name)
	}
	return nil
}

// compound reads the messages of a packet that holds several.
func (s *screen) compound() error {
	count, err := s.next(1)
	if err != nil {
		return err
	}
	lengths, err := s.next(2 * int(count[0]))
	if err != nil {
		return err
	}
	for ; len(lengths) > 0; lengths = lengths[2:] {
		body, err := s.next(int(binary.BigEndian.Uint16(lengths)))
		if err != nil {
			return err
		}
		part := &screen{b: body}
		if err := part.message(); err != nil {
			return err
		}
		if err := part.ended(); err != nil {
			return err
		}
	}
	return s.ended()
}

// ended reports whether everything was looked at.
func (s *screen) ended() error {
	if s.at < len(s.b) {
		return screened(RefusedForm, "%d bytes too many", len(s.b)-s.at)
	}
	return nil
}

// message reads one message of a packet.
func (s *screen) message() error {
	t, err := s.next(1)
	if err != nil {
		return err
	}
	if t[0] > typeDead && t[0] != typeNack {
		return screened(RefusedType, "%d in a packet", t[0])
	}
	return s.fields(func(string, uint64) error { return nil })
}

// sync reads a full sync, or what answers one.
func (s *screen) sync(label string, answer bool) error {
	if !answer {
		if err := s.label(label); err != nil {
			return err
		}
	}
	t, err := s.next(1)
	if err != nil {
		return err
	}
	if t[0] == typeError && answer {
		return s.record(errorFields, nil)
	}
	if t[0] != typeSync {
		return screened(RefusedType, "%d in a stream", t[0])
	}
	nodes, err := s.syncHeader()
	if err != nil {
		return err
	}
	for range nodes {
		if err := s.record(nodeFields, nil); err != nil {
			return err
		}
	}
	return nil
}

// syncHeader reads how many nodes follow.
func (s *screen) syncHeader() (nodes uint64, err error) {
	var user uint64
	err = s.record(syncFields, func(key string, number uint64) {
		switch key {
		case "Nodes":
			nodes = number
		case "UserStateLen":
			user = number
		}
	})
	if err == nil && (nodes > syncNodesMax || user > 0) {
		err = screened(RefusedSize, "a sync of %d nodes and %d bytes of a user; at most %d and none are taken",
			nodes, user, syncNodesMax)
	}
	return nodes, err
}
