package ddata

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// What the singletons of two nodes say to each other, on the channel "singleton" of the Control
// lane:
//
//	byte 0   version of this format (1)
//	byte 1   the word: 1 request, 2 in progress, 3 done
//	rest     the name of the singleton, 1 to 64 bytes of UTF-8

const singletonVersion = 1

var singletonChannel = transport.ChannelOf("singleton")

var errSingletonWord = errors.New("malformed word of a singleton")

func appendWord(dst []byte, name string, w singleton.Word) []byte {
	return append(append(dst, singletonVersion, byte(w)), name...)
}

func decodeWord(b []byte) (name string, w singleton.Word, err error) {
	if len(b) < 3 || len(b) > 2+nameMax || b[0] != singletonVersion {
		return "", 0, fmt.Errorf("%w: wrong version or length", errSingletonWord)
	}
	w, name = singleton.Word(b[1]), string(b[2:])
	if w < singleton.Request || w > singleton.Done {
		return "", 0, fmt.Errorf("%w: %v", errSingletonWord, w)
	}
	if err := checkName(name); err != nil {
		return "", 0, fmt.Errorf("%w: its name %w", errSingletonWord, err)
	}
	return name, w, nil
}

func (s *Singleton) sendWord(e singleton.Envelope) {
	payload := appendWord(nil, s.cfg.Name, e.Word)
	if err := s.n.net.Send(transport.NodeID(e.To), transport.Control, 0, singletonChannel, payload); err != nil {
		// a request is repeated
		s.n.reports.emit(events.MessageUnsent{
			What: "singleton", To: fmt.Sprintf("%v: %v of %q", e.To, e.Word, s.cfg.Name), Err: err,
		})
	}
}

// hear takes the words of other nodes. A node that asks for a singleton that this node does not
// run gets no answer: a view tells it when this node is gone.
func (ss *singletons) hear(from transport.NodeID, payload []byte, r *reports) {
	name, w, err := decodeWord(payload)
	if err != nil {
		r.emit(events.MessageMalformed{What: "singleton", Peer: view.UID(from), Err: err})
		return
	}
	s := ss.find(name)
	if s == nil {
		return
	}
	if place, ok := s.admission.Admit(uint64(from), len(payload)); ok {
		s.loop.Force(singletonInput{in: singleton.Receive{From: view.UID(from), Word: w}, from: place})
	}
}
