// Table answers the rows of a table from the standard input, with a model that takes columns of strings and numbers by
// name, as adult.py trains one.   table MODEL.keras < table.csv
package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"log"
	"os"
	"strconv"

	"dl4.invalid/dl4"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// column is a column of a table as the type that an input has.
func column(cells []string, dtype dl4.DType) *dl4.Tensor {
	numbers, integers := make([]float32, len(cells)), make([]int32, len(cells))
	switch dtype {
	case dl4.String:
		return must(dl4.FromStrings(cells, len(cells), 1))
	case dl4.Int32:
		for i, cell := range cells {
			integers[i] = int32(must(strconv.ParseInt(cell, 10, 32)))
		}
		return must(dl4.FromSlice(integers, len(cells), 1))
	default:
		for i, cell := range cells {
			numbers[i] = float32(must(strconv.ParseFloat(cell, 32)))
		}
		return must(dl4.FromSlice(numbers, len(cells), 1))
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("expected a model")
	}
	session := must(dl4.NewSession(must(dl4.LoadModel(nil, os.Args[1], nil)), nil))
	table := map[string][]string{}
	rows := must(csv.NewReader(os.Stdin).ReadAll())
	for _, row := range rows[1:] {
		for i, cell := range row {
			table[rows[0][i]] = append(table[rows[0][i]], cell)
		}
	}
	var inputs []*dl4.Tensor
	for _, input := range must(session.Inputs()) {
		cells, found := table[input.Name]
		if !found {
			log.Fatalf("the table has no column %s", input.Name)
		}
		inputs = append(inputs, column(cells, input.DType))
	}
	for _, answer := range must(dl4.Data[float32](must(session.Run(context.Background(), inputs...))[0])) {
		fmt.Printf("%.9f\n", answer)
	}
}
