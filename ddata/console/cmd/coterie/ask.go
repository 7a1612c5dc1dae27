package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/client"
)

// defaultURL is where a console is looked for that no setting names.
const defaultURL = "http://127.0.0.1:8080/coterie/"

// remote is the console of a running node, as flags and variables say, with the world around.
type remote struct {
	stdio
	client.Client
	json  bool
	limit time.Duration // for one question, of a command that asks several times
}

// within bounds one question, or a command that asks once.
func (r *remote) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.limit)
}

// remoteFlags are the flags of commands that ask a console.
type remoteFlags struct {
	url, tokenFile, ca string
	timeout            time.Duration
	json               bool
}

func (f *remoteFlags) add(flags *flag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "of the console (default: COTERIE_URL, else "+defaultURL+")")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the token (default: COTERIE_TOKEN)")
	flags.StringVar(&f.ca, "ca", "", "`file` with the certificates that the console's may be signed by")
	flags.DurationVar(&f.timeout, "timeout", 20*time.Second,
		"for the whole command; for each question of watch and drain -wait")
	flags.BoolVar(&f.json, "json", false, "print JSON, for programs")
}

// remote makes the client.
func (f *remoteFlags) remote(c stdio) (*remote, error) {
	r := &remote{stdio: c, json: f.json, limit: f.timeout}
	r.URL = cmp.Or(f.url, c.getenv("COTERIE_URL"), defaultURL)
	if !strings.HasPrefix(r.URL, "http://") && !strings.HasPrefix(r.URL, "https://") {
		return nil, fmt.Errorf("%w: -url %q begins with neither http:// nor https://", errUsage, r.URL)
	}
	r.Token = c.getenv("COTERIE_TOKEN")
	if f.tokenFile != "" {
		b, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("-token-file: %w", err)
		}
		r.Token = strings.TrimSpace(string(b))
	}
	if f.ca == "" {
		return r, nil
	}
	pem, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("-ca: no certificate in PEM in %s", f.ca)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: pool}
	r.HTTP = &http.Client{Transport: t}
	return r, nil
}

// question is a command that asks a console.
type question func(ctx context.Context, r *remote, args []string) error

// asking prepares a command that asks a console, within the time limit.
func asking(do question) func(*flag.FlagSet) task {
	return func(flags *flag.FlagSet) task {
		return lasting(flags, func(ctx context.Context, r *remote, args []string) error {
			ctx, cancel := r.within(ctx)
			defer cancel()
			return do(ctx, r, args)
		})
	}
}

// lasting prepares a command that asks a console, perhaps again and again. It bounds each question itself.
func lasting(flags *flag.FlagSet, do question) task {
	var f remoteFlags
	f.add(flags)
	return func(ctx context.Context, c stdio, args []string) error {
		r, err := f.remote(c)
		if err != nil {
			return err
		}
		return do(ctx, r, args)
	}
}

// show prints an answer: as JSON, or by table. Nodes that are missing are named after it.
func show[T any](r *remote, x T, missing []api.Unanswered, table func(*table, T)) error {
	if r.json {
		e := json.NewEncoder(r.out)
		e.SetIndent("", "  ")
		if err := e.Encode(x); err != nil {
			return err
		}
	} else {
		t := newTable(r.out)
		table(t, x)
		if err := t.end(); err != nil {
			return err
		}
	}
	return named(r, missing)
}

// named names the nodes that gave no answer, which is an error if there are some.
func named(r *remote, missing []api.Unanswered) error {
	for _, u := range missing {
		fmt.Fprintf(r.errs, "no answer of %s %s: %s\n", api.Short(u.UID), u.Addr, u.Why)
	}
	if len(missing) > 0 {
		return errPartial
	}
	return nil
}

// explained adds what to do to an error of a console that cannot be reached.
func explained(r *remote, err error) error {
	var answered *client.Error
	if err == nil || errors.As(err, &answered) {
		return err
	}
	return fmt.Errorf("%w; is a console there? -url or COTERIE_URL name another (%s)", err, r.URL)
}
