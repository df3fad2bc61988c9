// Reads what anchors.ts has made, and checks it with the libraries of Go's checksum database and of a witness.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type checkpoint struct {
	Note string `json:"note"`
	// The key of the ledger that signed it.
	Key string `json:"key"`
	// Whether the witness has cosigned it.
	Cosigned bool `json:"cosigned"`
}

type inclusion struct {
	Index int64    `json:"index"`
	Line  string   `json:"line"`
	Proof []string `json:"proof"`
}

type task struct {
	Witness     string       `json:"witness"`
	Checkpoints []checkpoint `json:"checkpoints"`
	// In the tree of the last checkpoint.
	Inclusions []inclusion `json:"inclusions"`
	// From each checkpoint but the last to the last.
	Consistencies [][]string `json:"consistencies"`
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func hashes(texts []string) []tlog.Hash {
	list := make([]tlog.Hash, len(texts))
	for i, text := range texts {
		list[i] = must(tlog.ParseHash(text))
	}
	return list
}

func main() {
	var t task
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		must(0, err)
	}
	witness := must(torchwood.NewCosignatureVerifier(t.Witness))
	trees := make([]torchwood.Checkpoint, len(t.Checkpoints))
	for i, c := range t.Checkpoints {
		verifiers := note.VerifierList(must(note.NewVerifier(c.Key)), witness)
		opened := must(note.Open([]byte(c.Note), verifiers))
		trees[i] = must(torchwood.ParseCheckpoint(opened.Text))
		wanted := 1
		if c.Cosigned {
			wanted = 2
		}
		if len(opened.Sigs) != wanted || len(opened.UnverifiedSigs) != 0 {
			must(0, fmt.Errorf("checkpoint %d has %d known signatures and %d others", i, len(opened.Sigs), len(opened.UnverifiedSigs)))
		}
	}
	last := trees[len(trees)-1]
	for _, each := range t.Inclusions {
		leaf := tlog.RecordHash(must(base64.StdEncoding.DecodeString(each.Line)))
		if err := tlog.CheckRecord(hashes(each.Proof), last.N, last.Hash, each.Index, leaf); err != nil {
			must(0, err)
		}
	}
	for i, proof := range t.Consistencies {
		if err := tlog.CheckTree(hashes(proof), last.N, last.Hash, trees[i].N, trees[i].Hash); err != nil {
			must(0, err)
		}
	}
	fmt.Printf("%d checkpoints, %d inclusions, %d consistencies\n", len(trees), len(t.Inclusions), len(t.Consistencies))
}
