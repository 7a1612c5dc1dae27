package singletons

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/transport"
)

// What the singletons of two nodes say to each other, on the channel "singleton" of the Control
// lane:
//
//	byte 0   version of this format (1)
//	byte 1   the word: 1 request, 2 in progress, 3 done
//	rest     the name of the singleton, 1 to 64 bytes of UTF-8

const wordVersion = 1

var channel = transport.ChannelOf("singleton")

var errWord = errors.New("malformed word of a singleton")

func appendWord(dst []byte, name string, w singleton.Word) []byte {
	return append(append(dst, wordVersion, byte(w)), name...)
}

func decodeWord(b []byte) (name string, w singleton.Word, err error) {
	if len(b) < 3 || len(b) > 2+config.NameMax || b[0] != wordVersion {
		return "", 0, fmt.Errorf("%w: wrong version or length", errWord)
	}
	w, name = singleton.Word(b[1]), string(b[2:])
	if w < singleton.Request || w > singleton.Done {
		return "", 0, fmt.Errorf("%w: %v", errWord, w)
	}
	if err := config.CheckName(name); err != nil {
		return "", 0, fmt.Errorf("%w: its name %w", errWord, err)
	}
	return name, w, nil
}

func (s *Singleton) sendWord(e singleton.Envelope) {
	word := func(dst []byte) []byte { return appendWord(dst, s.cfg.Name, e.Word) }
	err := s.h.Channels.Append(transport.NodeID(e.To), transport.Control, 0, channel, word, nil)
	if err != nil { // a request is repeated
		s.h.Emit(events.MessageUnsent{
			What: "singleton", To: fmt.Sprintf("%v: %v of %q", e.To, e.Word, s.cfg.Name), Err: err,
		})
	}
}
