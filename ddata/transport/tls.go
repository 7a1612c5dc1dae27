package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"syscall"
)

// TLS secures the connections of a Mesh, those of gossip included. Both ends must show a
// certificate that the other accepts, before either says anything else. Package pki makes one of
// files. The methods are called for each connection, from any goroutine, and the configurations are
// not changed: what they return may be another one each time, as when certificates are renewed.
// Connections that are there go on.
type TLS interface {
	// Server is for an accepted connection. It has to demand and verify the certificate of the
	// other side.
	Server() *tls.Config
	// Client is for a connection that was dialled to a host, an IP address or a name.
	Client(host string) *tls.Config
}

// CheckTLS finds an identity that is not nil itself and holds nothing, as when the error of
// pki.Load was not looked at.
func CheckTLS(t TLS) error {
	if v := reflect.ValueOf(t); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("is a nil %T; look at the error of what made it", t)
	}
	return nil
}

// goodFor returns an error if a node that dials addr would refuse, by its names, the certificate
// that the listener shows.
func goodFor(t TLS, shown *x509.Certificate, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	want := t.Client(host)
	if want.InsecureSkipVerify || want.ServerName == "" { // it has ways of its own
		return nil
	}
	return shown.VerifyHostname(want.ServerName)
}

// checkOwn returns an error if every peer would refuse this node's certificate at the address that
// the node advertises. A certificate that is made anew for each connection is not checked.
func checkOwn(t TLS, addr string) error {
	if t == nil {
		return nil
	}
	own := t.Server()
	if own == nil || len(own.Certificates) == 0 || len(own.Certificates[0].Certificate) == 0 {
		return nil
	}
	shown, err := x509.ParseCertificate(own.Certificates[0].Certificate[0])
	if err == nil {
		err = goodFor(t, shown, addr)
	}
	if err != nil {
		return fmt.Errorf("transport: config: TLS: this node's certificate is not good for %s, which it advertises: "+
			"%w; give it one for that host, or another Advertise", addr, err)
	}
	return nil
}

// hostOf is where a connection comes from, without the port, which is another one each time.
func hostOf(conn net.Conn) string {
	addr := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// alerted is the refusal behind an error of a connection: with TLS 1.3 a client learns only when it
// reads that its certificate was not accepted.
func alerted(err error) (ErrRefused, bool) {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return ErrRefused{}, false
	}
	return ErrRefused{Reason: RefusedTLS, Text: err.Error()}, true
}

// textTLS tells either side of a pair of which only one uses TLS.
const textTLS = "one side uses TLS, the other does not"

// The first two bytes of an alert and of a hello of TLS.
const tlsAlert, tlsHello = "\x15\x03", "\x16\x03"

// ended reports whether the other side went away, or time is over. Any other error means that
// something did not fit.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNRESET)
}
