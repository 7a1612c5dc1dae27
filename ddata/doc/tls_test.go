package doc_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/transport/pki"
	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
	"github.com/coterie-go/coterie/examples/local"
)

// secured is the configuration of a node whose certificate is in a directory. All nodes show a
// certificate of one authority, with the name shop-nodes.
func secured(dir string, log *slog.Logger) (ddata.Config, error) {
	id, err := pki.Load(pki.Files{
		Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), CA: filepath.Join(dir, "ca.crt"),
		Name: "shop-nodes", Logger: log,
	})
	if err != nil {
		return ddata.Config{}, err
	}
	return ddata.Config{Name: "shop", Roles: []string{"shop"}, TLS: id, Logger: log}, nil
}

func TestSecured(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	issued := pkitest.NewAuthority(t).Issue(dir, pkitest.Node{Names: []string{"shop-nodes"}})
	for from, to := range map[string]string{ // order: each file by itself
		issued.Cert: "tls.crt", issued.Key: "tls.key", issued.CA: "ca.crt",
	} {
		if err := os.Rename(from, filepath.Join(dir, to)); err != nil { // as Kubernetes names them
			t.Fatal(err)
		}
	}
	cfg, err := secured(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := local.Start(ctx, 2, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(nodes[0].Members()); n != 2 {
		t.Errorf("%d members", n)
	}
	if err := local.Stop(ctx, nodes); err != nil {
		t.Error(err)
	}
}
