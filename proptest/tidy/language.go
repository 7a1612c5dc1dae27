package tidy

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// commentColumns is how wide a comment may be, a tab counted as four. Lines of tables, which begin
// with a tab, may be wider.
const commentColumns = 120

// A term is a word of this tree with one meaning. The type that has it is the only type of that name.
type term struct {
	Word    string // the name of the type
	Package string // where it is declared
	Meaning string
}

// terms are the words that are easily taken for something else.
var terms = []term{
	{"Permit", "ddata/runloop", "the right of one message to wait in front of a loop"},
	{"JoinReply", "ddata/membership/bootstrap", "the answer of a member to a node that looks for a cluster"},
	{"Locked", "ddata/membership/bootstrap", "the word of a founder that it has locked itself to a founding view"},
	{"Lock", "ddata/locks", "a lock outside of the cluster, which one holder has at a time"},
	{"Lease", "ddata/membership/nodelease",
		"what members grant to a node, and for how long; the host lends it to extensions as Lease too"},
	{"Member", "ddata/membership/view",
		"one incarnation of a node as a view lists it; the replicator has its part of it as Member too"},
	{"Status", "ddata/membership/view", "how far a member has come: Joining, Up, Leaving"},
	{"FencingToken", "ddata/membership/singleton", "orders what outlives its lease in an outside store"},
	{"Token", "sharding/protocol", "orders the commands of the coordinators of one type"},
	{"Fault", "proptest/sim/options", "what a seed makes the world of a simulation suffer"},
	{"Defect", "proptest/defect", "an error that a test plants in a machine"},
	{"Holdings", "replicator/wire", "the gossip of a replica: hashes of what it holds"},
	{"ReplyStatus", "sharding/codec", "what became of a question, as a reply says it"},
	{"View", "ddata/membership/view",
		"one link of the chain of memberships; the replicator has its part of it as View too"},
	{"FetchItems", "replicator/wire", "the question of a repair for the items among some dots"},
	{"MoreCells", "replicator/wire", "the question of a repair for more cells of a sketch"},
	{"LogTruncated", "replicator/wire", "the answer that the log does not reach back so far"},
	{"PartialBatch", "replicator/storage", "what a crash has left of a batch that was written in parts"},
	{"shardState", "sharding/protocol/coordinator", "what the coordinator knows of one shard"},
	{"LeaseState", "sharding/protocol", "how far a machine has come with its lease in an outside store"},
	{"Predecessor", "sharding/protocol", "what an earlier region of the same type and node has promised"},
	{"NotStarted", "sharding/protocol", "answers for a type that this node has not started"},
	{"Responder", "sharding", "the duty to answer a question later"},
	{"Extractor", "sharding", "takes values that name their entity themselves"},
	{"BufferedMessage", "sharding/dataplane/routes", "a message that waits for the home of its shard"},
	{"passivator", "sharding/dataplane/entities", "says which entities of a shard go when there are too many"},
	{"idleScan", "sharding/dataplane/entities", "looks for idle entities"},
	{"leaseClient", "sharding/control", "asks an outside store for one lease"},
	{"Hold", "sharding/dataplane/lease", "one time of holding a lease"},
}

// shared are the terms that other packages may have too, because theirs is a part of the first.
var shared = map[string][]string{
	"View": {"replicator/replica", "ddata/console/api"}, "Lease": {"ddata/host"},
	"Member": {"replicator/replica", "replicator/quorum", "ddata/console/api"},
}

// refused are words that neither comments nor strings use: a component is no person, and a reader
// whose second language is English reads them twice.
var refused = regexp.MustCompile(`\b([Ww]ho(ever)?|[Nn]obody|[Hh]e|[Hh]im|[Hh]is|for +ever|but +for|is +to +be|of +those +that)\b`)

func checkLanguage(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		for _, f := range p.all() {
			for _, group := range f.AST.Comments {
				for _, c := range group.List {
					out = append(out, m.language(c)...)
				}
			}
			out = append(out, m.texts(f)...)
		}
		for _, f := range p.Files {
			out = append(out, m.homonyms(p, f)...)
		}
		out = append(out, goneTerms(p)...)
	}
	return sorted(out)
}

// language looks at one comment.
func (m *Module) language(c *ast.Comment) (out []Finding) {
	if w := refused.FindString(c.Text); w != "" {
		out = append(out, m.at(c.Pos(), "language", "%q", w))
	}
	for line := range strings.Lines(c.Text) {
		wide := len([]rune(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")))
		if wide > commentColumns && !strings.HasPrefix(line, "//\t") {
			out = append(out, m.at(c.Pos(), "language", "a comment of %d columns, at most %d", wide, commentColumns))
		}
	}
	return out
}

// texts looks at the strings of a file: errors, log lines, events, names of tests.
func (m *Module) texts(f *File) (out []Finding) {
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if w := refused.FindString(l.Value); w != "" {
				out = append(out, m.at(l.Pos(), "language", "%q in a string", w))
			}
		}
		return true
	})
	return out
}

// homonyms looks for types that have the name of a term of another package.
func (m *Module) homonyms(p *Package, f *File) (out []Finding) {
	for _, name := range f.types() {
		for _, t := range terms {
			if t.Word == name.Name && p.Dir != t.Package && !slices.Contains(shared[t.Word], p.Dir) {
				out = append(out, m.at(name.Pos(), "language", "%s is a term of %s: %s", t.Word, t.Package, t.Meaning))
			}
		}
	}
	return out
}

// types returns the names of the types that a file declares. An alias is the same type.
func (f *File) types() (names []*ast.Ident) {
	for _, d := range f.AST.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			if spec := s.(*ast.TypeSpec); !spec.Assign.IsValid() {
				names = append(names, spec.Name)
			}
		}
	}
	return names
}

// goneTerms looks for terms of the package that it does not have any more.
func goneTerms(p *Package) (out []Finding) {
	for _, t := range terms {
		has := slices.ContainsFunc(p.Files, func(f *File) bool {
			return slices.ContainsFunc(f.types(), func(n *ast.Ident) bool { return n.Name == t.Word })
		})
		if t.Package == p.Dir && !has {
			out = append(out, Finding{
				File: p.Dir, Rule: "language", Text: t.Word + " is a term of this package, which has no such type",
			})
		}
	}
	return out
}
