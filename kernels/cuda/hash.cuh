// The hash of a tree or of a proof of work: namespace `hash` is BLAKE3 if the host defines that name, else Keccak-256.
#pragma once
#include "digest.cuh"
#ifdef BLAKE3
#include "blake3.cuh"
namespace hash = blake3;
#else
#include "keccak.cuh"
namespace hash = keccak;
#endif
