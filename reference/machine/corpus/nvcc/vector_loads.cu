// Vector loads and stores of all widths, cache operators, and the read-only path.

extern "C" __global__ void vector_loads(const void* in, char4* c, short2* s, uint2* u, float4* f,
                                        double2* d, ulonglong2* l) {
  const int t = threadIdx.x;
  const char4 a = static_cast<const char4*>(in)[t];
  const short2 b = __ldg(static_cast<const short2*>(in) + t);
  const uint2 e = __ldcg(static_cast<const uint2*>(in) + t);
  const uint4 g = __ldcs(static_cast<const uint4*>(in) + t);
  const longlong2 h = __ldlu(static_cast<const longlong2*>(in) + t);
  const ushort4 i = __ldca(static_cast<const ushort4*>(in) + t);
  const double2 j = static_cast<const double2*>(in)[t];
  c[t] = make_char4(a.w, a.z, a.y, a.x);
  __stcg(s + t, make_short2(b.y, static_cast<short>(i.w)));
  __stcs(u + t, make_uint2(e.y, e.x));
  __stwt(f + t, make_float4(__uint_as_float(g.w), __uint_as_float(g.z), __uint_as_float(g.y), __uint_as_float(g.x)));
  d[t] = make_double2(fabs(j.y), j.x);
  l[t] = make_ulonglong2(static_cast<unsigned long long>(h.y), i.x);
}
