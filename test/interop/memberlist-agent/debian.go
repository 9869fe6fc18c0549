//go:build debian

package main

import (
	"errors"

	"github.com/hashicorp/memberlist"
)

// Debian's package is memberlist 0.2.2, which has no labels.
const hasLabels = false

func setLabel(config *memberlist.Config, label string) error {
	if label != "" {
		return errors.New("this memberlist has no labels")
	}
	return nil
}

func memberlistVersion() string { return "v0.2.2 (Debian)" }
