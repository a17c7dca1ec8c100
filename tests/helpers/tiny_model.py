"""A tiny model of Unlimited-OCR's kind, made and taught here: 65,000 weights that know two answers by heart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uocr_nb.local_server.torch_parts import import_torch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from PIL.Image import Image

BEGIN, END, PAD = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"
MARKS = ["<image>", "<|det|>", "<|/det|>", "<|ref|>", "<|/ref|>", "<|grounding|>", "<td>", "</td>", "<tr>", "</tr>"]
SIDE, TILE = 128, 64
"""Sides of a whole page and of a tile; multiples of 64, as 1024 and 640 are."""

TEMPLATE = """{{ bos_token }}{% for message in messages %}{% for part in message.content %}\
{% if part.type == 'image' %}<image>{% endif %}{% endfor %}{% for part in message.content %}\
{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}"""
"""Image marks first, then the words."""


def make(folder: Path) -> tuple[Any, Any]:
    """Make the model with random weights and its processor, save both, and return them."""
    torch = import_torch()
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token=BEGIN, eos_token=END, pad_token=PAD, additional_special_tokens=MARKS
    )
    images = transformers.UnlimitedOcrImageProcessor(
        size={"height": SIDE, "width": SIDE}, tile_size=TILE, maximum_pad_value=TILE, max_patches=4
    )
    processor = transformers.UnlimitedOcrProcessor(image_processor=images, tokenizer=tokenizer, chat_template=TEMPLATE)
    sam = {
        "hidden_size": 16,
        "output_channels": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": SIDE,
        "mlp_dim": 32,
        "window_size": 4,
        "global_attn_indexes": [0],
        "downsample_channels": [8, 16],
        "initializer_range": 0.02,
    }
    clip = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
        "max_position_embeddings": 1024,
        "sliding_window": 64,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    torch.manual_seed(0)
    model = transformers.UnlimitedOcrForConditionalGeneration(
        transformers.UnlimitedOcrConfig(
            image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
            vision_config={"sam_config": sam, "encoder_config": clip},
            text_config=text,
        )
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return model, processor


def teach(model: Any, processor: Any, lessons: Sequence[tuple[list[Image], str, str]]) -> None:
    """Teach answers by heart: pages, prompt and answer of each."""
    torch = import_torch()
    examples = [_example(torch, processor, *lesson) for lesson in lessons]
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(600):
        outputs = [model(**inputs, labels=labels) for inputs, labels in examples]
        optimizer.zero_grad()
        torch.stack([output.loss for output in outputs]).sum().backward()
        optimizer.step()
        # Known by heart as soon as the likeliest token is the right one everywhere.
        if all(_knows(output.logits, labels) for output, (_, labels) in zip(outputs, examples, strict=True)):
            break
    model.eval()


def _knows(logits: Any, labels: Any) -> bool:
    told, right = logits[0, :-1], labels[0, 1:]
    sure = told.log_softmax(-1).gather(1, right.clamp(min=0)[:, None])[:, 0].exp() > 0.7
    return bool(sure[right >= 0].all())


def _example(torch: Any, processor: Any, pages: list[Image], prompt: str, answer: str) -> tuple[Any, Any]:
    content = [*({"type": "image", "image": page} for page in pages), {"type": "text", "text": prompt}]
    inputs = dict(
        processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"crop_to_patches": len(pages) == 1},
        )
    )
    told = processor.tokenizer(answer + END, add_special_tokens=False, return_tensors="pt")["input_ids"]
    asked = inputs["input_ids"].shape[1]
    inputs["input_ids"] = torch.cat([inputs["input_ids"], told], 1)
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    if "mm_token_type_ids" in inputs:
        inputs["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(told)], 1)
    labels = inputs["input_ids"].clone()
    labels[:, :asked] = -100
    return inputs, labels
