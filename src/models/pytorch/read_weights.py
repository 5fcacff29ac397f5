def read_weights(path):
    """Reads a safetensors file of 32-bit floats: the length of a header, the header, the numbers."""
    content = bytearray(Path(path).read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    weights = {}
    for name, about in json.loads(content[8:start]).items():
        first, last = about["data_offsets"]
        place = {"count": (last - first) // 4, "offset": start + first}
        numbers = torch.frombuffer(content, dtype=torch.float32, **place)
        weights[name] = numbers.reshape(about["shape"])
    return weights
