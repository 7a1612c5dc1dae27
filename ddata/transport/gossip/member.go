package gossip

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/memberlist"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/transport"
)

// member is what a node's meta says, at most 512 bytes:
//
//	version(1) = 1, CBOR map {1: cluster, 2: uid, 3: address}
type member struct {
	Cluster string           `cbor:"1,keyasint"`
	UID     transport.NodeID `cbor:"2,keyasint"`
	Addr    string           `cbor:"3,keyasint"`
}

const metaVersion = 1

func (m member) encode() ([]byte, error) {
	b := cbor.Records.MustAppend([]byte{metaVersion}, m)
	if len(b) > memberlist.MetaMaxSize {
		return nil, fmt.Errorf("gossip: cluster name and address are too long: the meta has %d bytes, memberlist "+
			"takes %d", len(b), memberlist.MetaMaxSize)
	}
	return b, nil
}

func decodeMember(b []byte) (member, error) {
	var m member
	if len(b) == 0 || b[0] != metaVersion {
		return m, errors.New("meta of another version")
	}
	if err := cbor.Records.Decode(b[1:], &m); err != nil {
		return member{}, err
	}
	if m.UID == 0 || m.Addr == "" {
		return member{}, errors.New("meta without uid or address")
	}
	return m, nil
}

// name is the node's name in memberlist.
func (m member) name() string { return nodeName(m.Addr, m.UID) }

func nodeName(addr string, id transport.NodeID) string {
	return addr + "/" + strconv.FormatUint(uint64(id), 16)
}

// parseName takes a node's name apart.
func parseName(name string) (addr string, id transport.NodeID, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i <= 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(name[i+1:], 16, 64)
	if err != nil || n == 0 {
		return "", 0, false
	}
	return name[:i], transport.NodeID(n), true
}
