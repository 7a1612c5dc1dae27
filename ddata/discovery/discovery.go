package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AddrsMax bounds the addresses of one answer. Of more, the first by their text are taken, so that all nodes take the same ones.
const AddrsMax = 256

// addrMax bounds an address, in bytes.
const addrMax = 256

// ErrNobody says that a source answered, and named no address.
var ErrNobody = errors.New("discovery: nobody is named")

// Source names the addresses (host:port) at which nodes of the cluster may be at present. A host may be a name, which is resolved each time that
// it is dialled. The own address among them does no harm. An answer without addresses is ErrNobody, or any error that says more.
//
// Discover is called by one goroutine at a time and should end when ctx does. The caller may keep and change the slice.
type Source interface {
	Discover(ctx context.Context) ([]string, error)
}

// Func makes a Source of a function.
type Func func(ctx context.Context) ([]string, error)

// Discover calls f.
func (f Func) Discover(ctx context.Context) ([]string, error) { return f(ctx) }

// Static is a list that does not change.
type Static []string

// Discover returns the list.
func (s Static) Discover(context.Context) ([]string, error) {
	if len(s) == 0 {
		return nil, ErrNobody
	}
	return slices.Clone([]string(s)), nil
}

// Validate reports the addresses that are not host:port.
func (s Static) Validate() error {
	var errs []error
	for _, a := range s {
		errs = append(errs, checkAddr(a))
	}
	return errors.Join(errs...)
}

// String prints the list.
func (s Static) String() string { return "static " + strings.Join(s, ", ") }

// Union names what any of several sources names. It fails when one of them does and none names an address; otherwise the error of one does not
// hide what the others know.
type Union []Source

// Discover asks all, one after the other.
func (u Union) Discover(ctx context.Context) ([]string, error) {
	var all []string
	var errs []error
	for _, s := range u {
		addrs, err := s.Discover(ctx)
		all = append(all, addrs...)
		errs = append(errs, err)
	}
	if len(all) > 0 {
		return all, nil
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return nil, ErrNobody
}

// Validate reports the faults of all sources that can tell.
func (u Union) Validate() error {
	var errs []error
	for _, s := range u {
		errs = append(errs, Validate(s))
	}
	return errors.Join(errs...)
}

// String prints all sources.
func (u Union) String() string {
	texts := make([]string, len(u))
	for i, s := range u {
		texts[i] = Name(s)
	}
	return strings.Join(texts, "; ")
}

var (
	_ Source = Func(nil)
	_ Source = Static(nil)
	_ Source = Union(nil)
	_ Source = DNS{}
)

// Validate reports what is wrong with a source and cannot mend by itself. A source of the user's own may have a method Validate; one without is
// not checked.
func Validate(s Source) error {
	if v, ok := s.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Name is what logs call a source.
func Name(s Source) string {
	if n, ok := s.(fmt.Stringer); ok {
		return n.String()
	}
	return fmt.Sprintf("%T", s)
}

// Answer is what a source said, tidied: Addrs sorted, without repetition and at most AddrsMax, each of them host:port.
type Answer struct {
	Addrs []string
	// Err says why there are none.
	Err error
	// LeftOut counts what was no address, or beyond AddrsMax.
	LeftOut int
}

// Ask asks a source once.
func Ask(ctx context.Context, s Source) Answer {
	addrs, err := s.Discover(ctx)
	if err != nil {
		return Answer{Err: err}
	}
	before := len(addrs)
	addrs = slices.DeleteFunc(addrs, func(a string) bool { return checkAddr(a) != nil })
	bad := before - len(addrs)
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	over := max(0, len(addrs)-AddrsMax)
	if addrs = addrs[:len(addrs)-over]; len(addrs) == 0 {
		return Answer{Err: ErrNobody, LeftOut: bad}
	}
	return Answer{Addrs: slices.Clone(addrs), LeftOut: bad + over}
}

// checkAddr accepts what can be dialled: host:port, with a number above 0 for a port.
func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 || host == "" || len(addr) > addrMax || !utf8.ValidString(addr) {
		return fmt.Errorf("discovery: %q is not host:port with a port above 0", addr)
	}
	return nil
}
