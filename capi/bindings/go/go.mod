module dl4

go 1.19
