// Package answers shares the answers to questions that cost something: all that ask for one thing
// within its time to live get one answer, and only a few questions are under way at one time.
//
//	absent ──Get──► asked ──answer──► fresh ──time to live, Clear──► absent
//	                  └──failure──► absent
//
// A failure is not kept. What a caller gets belongs to all: it must not be changed.
package answers
