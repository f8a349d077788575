// Occurrences of a short pattern (in constant memory) in a text of few letters.

__constant__ char pattern[5] = {1, 0, 1, 1, 0};

extern "C" __global__ void string_search(const char* text, int* places, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int length = 0;
  if (i < n) {
    while (length < 5 && i + length < n && text[i + length] == pattern[length]) ++length;
    places[i] = length;
  }
  const unsigned found = __ballot_sync(0xffffffffu, length == 5);
  if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(count, __popc(found));
}
