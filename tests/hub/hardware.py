"""The rows of ``GET /api/jobs/hardware``: names, sizes and prices as the pricing page had them in 2026."""

from __future__ import annotations

from typing import Any

# name, pretty name, vCPU, RAM GB, disk GB, accelerator (model, number, GB of all) or None, USD per hour.
_Row = tuple[str, str, int, int, int, tuple[str, int, int] | None, float]
_ROWS: tuple[_Row, ...] = (
    ("cpu-basic", "CPU Basic", 2, 16, 50, None, 0.01),
    ("cpu-upgrade", "CPU Upgrade", 8, 32, 50, None, 0.03),
    ("cpu-xl", "CPU XL", 16, 124, 1000, None, 1.00),
    ("cpu-performance", "CPU Performance", 32, 256, 1024, None, 1.90),
    ("t4-small", "Nvidia T4 - small", 4, 15, 50, ("T4", 1, 16), 0.40),
    ("t4-medium", "Nvidia T4 - medium", 8, 30, 100, ("T4", 1, 16), 0.60),
    ("l4x1", "1x Nvidia L4", 8, 30, 400, ("L4", 1, 24), 0.80),
    ("l4x4", "4x Nvidia L4", 48, 186, 3200, ("L4", 4, 96), 3.80),
    ("l40sx1", "1x Nvidia L40S", 8, 62, 380, ("L40S", 1, 48), 1.80),
    ("l40sx4", "4x Nvidia L40S", 48, 382, 3200, ("L40S", 4, 192), 8.30),
    ("l40sx8", "8x Nvidia L40S", 192, 1534, 6500, ("L40S", 8, 384), 23.50),
    ("a10g-small", "Nvidia A10G - small", 4, 15, 110, ("A10G", 1, 24), 1.00),
    ("a10g-large", "Nvidia A10G - large", 12, 46, 200, ("A10G", 1, 24), 1.50),
    ("a10g-largex2", "2x Nvidia A10G - large", 24, 92, 1000, ("A10G", 2, 48), 3.00),
    ("a10g-largex4", "4x Nvidia A10G - large", 48, 184, 2000, ("A10G", 4, 96), 5.00),
    ("a100-large", "1x Nvidia A100", 12, 142, 1000, ("A100", 1, 80), 2.50),
    ("a100x4", "4x Nvidia A100", 48, 568, 4000, ("A100", 4, 320), 10.00),
    ("a100x8", "8x Nvidia A100", 96, 1136, 8000, ("A100", 8, 640), 20.00),
    ("rtx-pro-6000", "1x Nvidia RTX PRO 6000", 23, 256, 475, ("RTX PRO 6000", 1, 96), 2.75),
    ("rtx-pro-6000x2", "2x Nvidia RTX PRO 6000", 46, 512, 950, ("RTX PRO 6000", 2, 192), 5.50),
    ("rtx-pro-6000x4", "4x Nvidia RTX PRO 6000", 92, 1024, 1900, ("RTX PRO 6000", 4, 384), 11.00),
    ("rtx-pro-6000x8", "8x Nvidia RTX PRO 6000", 184, 2048, 3800, ("RTX PRO 6000", 8, 768), 22.00),
    ("h200", "1x Nvidia H200", 23, 256, 3000, ("H200", 1, 141), 5.00),
    ("h200x2", "2x Nvidia H200", 46, 512, 6000, ("H200", 2, 282), 10.00),
    ("h200x4", "4x Nvidia H200", 92, 1024, 12000, ("H200", 4, 564), 20.00),
    ("h200x8", "8x Nvidia H200", 184, 2048, 24000, ("H200", 8, 1128), 40.00),
)


def _row(row: _Row) -> dict[str, Any]:
    name, pretty, cpu, ram, disk, gpu, hour = row
    micro = round(hour / 60 * 1_000_000)
    accelerator = gpu and {
        "type": "gpu",
        "model": gpu[0],
        "quantity": str(gpu[1]),
        "vram": f"{gpu[2]} GB",
        "manufacturer": "Nvidia",
    }
    return {
        "name": name,
        "prettyName": pretty,
        "cpu": f"{cpu} vCPU",
        "ram": f"{ram} GB",
        "ephemeralStorage": f"{disk} GB",
        "accelerator": accelerator,
        "unitCostMicroUSD": micro,
        "unitCostUSD": micro / 1_000_000,
        "unitLabel": "minute",
    }


HARDWARE: list[dict[str, Any]] = [_row(row) for row in _ROWS]
FLAVORS: frozenset[str] = frozenset(row[0] for row in _ROWS)
