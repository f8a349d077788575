"""A step of the game of life on a torus, two launches."""
from numba import cuda, types


def kernel(x, y, width, height):
    i, j = cuda.grid(2)
    if i < width and j < height:
        neighbours = 0
        for b in range(-1, 2):
            for a in range(-1, 2):
                if a != 0 or b != 0:
                    neighbours += x[(j + b) % height * width + (i + a) % width]
        alive = x[j * width + i]
        y[j * width + i] = 1 if neighbours == 3 or (neighbours == 2 and alive == 1) else 0


signature = (types.CPointer(types.uint8), types.CPointer(types.uint8), types.int32, types.int32)
