module dl4.invalid/dl4

go 1.19
