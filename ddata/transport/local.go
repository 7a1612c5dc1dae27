package transport

import (
	"crypto/tls"
	"fmt"
	"net"

	"github.com/coterie-go/coterie/ddata/format"
)

// local is what this node says of itself in a handshake, and what it asks of the other side.
type local struct {
	cfg  *Config
	addr string // where others dial this node
}

// sign fills in what every hello of this node says.
func (l *local) sign(h hello) hello {
	h.Cluster, h.From, h.Addr = l.cfg.Cluster, l.cfg.Self, l.addr
	h.FrameMax, h.MessageMax = uint32(l.cfg.FrameMax), uint32(l.cfg.MessageMax)
	h.Formats = l.cfg.Formats
	return h
}

// vet reports whether this node takes a connection with hello h. A node without a format level in
// common may have kinds and bounds that are not known here: it is refused for the levels. accepts: it
// takes streams of the channel that h names.
func (l *local) vet(k kind, h hello, accepts bool) error {
	refuse := func(r Reason, format string, args ...any) error {
		return ErrRefused{Reason: r, Text: fmt.Sprintf(format, args...)}
	}
	c := l.cfg
	if format.Common(c.Formats, h.Formats) == 0 {
		return refuse(RefusedVersion, "the node that dials speaks format %v, and %s speaks %v; go by a build that "+
			"speaks both", h.Formats, l.addr, c.Formats)
	}
	if err := h.check(); err != nil {
		return refuse(RefusedHello, "%v", err)
	}
	switch {
	case k != kindLink && k != kindAddr && k != kindStream:
		return refuse(RefusedHello, "kind %d", k)
	case h.Cluster != c.Cluster:
		return refuse(RefusedCluster, "%v at %s is of cluster %q, not of %q", c.Self, l.addr, c.Cluster, h.Cluster)
	case h.From == c.Self:
		return refuse(RefusedSelf, "%s is this node", l.addr)
	case (k == kindLink || h.To != 0) && h.To != c.Self:
		return refuse(RefusedIncarnation, "%s is %v now, not %v", l.addr, c.Self, h.To)
	case h.FrameMax > uint32(c.FrameMax):
		return refuse(RefusedLimit, "frames of up to %d bytes, here %d; set FrameMax alike on all nodes",
			h.FrameMax, c.FrameMax)
	case h.MessageMax > uint32(c.MessageMax):
		return refuse(RefusedLimit, "messages of up to %d bytes, here %d; set MessageMax alike on all nodes",
			h.MessageMax, c.MessageMax)
	case k == kindStream && !accepts:
		return refuse(RefusedStream, "channel %v", h.Channel)
	}
	return nil
}

// fits reports whether the certificate that was shown is good for the address at which its node
// says that it listens: the others would refuse it there.
func (l *local) fits(conn net.Conn, addr string) error {
	if err := l.shownFor(conn, addr); err != nil {
		return ErrRefused{Reason: RefusedTLS, Text: fmt.Sprintf(
			"the node says that it listens at %s, and its certificate is not good for that: %v", addr, err)}
	}
	return nil
}

// speaksFor reports whether a connection may speak for a peer: the certificate that was shown must be
// good for the address at which the peers have that node.
func (l *local) speaksFor(conn net.Conn, id NodeID, addr string) error {
	if err := l.shownFor(conn, addr); err != nil {
		return ErrRefused{Reason: RefusedTLS, Text: fmt.Sprintf(
			"the node says that it is %v, which is at %s, and its certificate is not good for that: %v", id, addr, err)}
	}
	return nil
}

// shownFor returns an error if a certificate was shown that is not good for an address. Where a
// configuration demands none, it has ways of its own.
func (l *local) shownFor(conn net.Conn, addr string) error {
	tc, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	shown := tc.ConnectionState().PeerCertificates
	if len(shown) == 0 {
		return nil
	}
	return goodFor(l.cfg.TLS, shown[0], addr)
}
