// Package documents holds the documents of this repository to what they promise: each Markdown file
// is read, and compared with the tree.
//
//   - A block of Go is an excerpt of a file that a test runs. A comment before the block names it,
//     see [Document.Excerpts].
//   - A block of commands has no command of which no test is known (commands.go).
//   - Commands in the text name packages, jobs of the Makefile, benchmarks and tests that exist.
//   - A link leads to a file, and to a heading of it.
//   - Sentences are short: at most 18 words on the average, and none above 40.
//   - The figures of the front page are those of the report ([Figures]).
//
// Run the tests with -count=1: the cache of tests does not look at files outside of the module.
//
// Command documents (cmd/documents) writes the excerpts anew. The package is a module of its own,
// because the library needs no parser of Markdown.
package documents
